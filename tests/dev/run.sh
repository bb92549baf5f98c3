# A run of `./dev test`: its arguments, its jobs, and its report.
# shellcheck shell=bash disable=SC2034,SC2154

. tests/dev/packages.sh
. tests/dev/require.sh
. tests/dev/jobs.sh
. tests/dev/steps.sh
. tests/dev/lanes.sh
. tests/dev/parts.sh
. tests/dev/steady.sh

# repeat STEP: prints the command that repeats a step
repeat() {
  case $1 in
    start) echo "./dev test" ;;
    build) echo "cargo test --workspace --locked --no-run" ;;
    part*) echo "./dev test all --$1" ;;
    *) echo "./dev test $1" ;;
  esac
}

# explain_failure STEP: prints what failed in a step, why, and the command that repeats it
explain_failure() {
  local names=() output=$scratch/failed.$1
  say
  if [ -e "$output" ]; then
    awk -f tests/dev/failures.awk "$output"
    mapfile -t names < <(awk -v names=1 -f tests/dev/failures.awk "$output" | sort -u)
  fi
  # With more names, the command would be as long as the list above.
  if ((${#names[@]} > 0 && ${#names[@]} <= 8)) && [ "$1" != steady ]; then
    say "To repeat: $(repeat "$1") --$(printf ' %q' "${names[@]}")"
  else
    say "To repeat: $(repeat "$1")"
  fi
}

# report: prints the summary, also after a failure or a signal
report() {
  local code=$? step ended result failures=() summary tests unfinished=("${running[@]/#/$scratch/output.}")
  # Bash has been seen to run this for a job that ended, too.
  [ "$BASHPID" = "$$" ] || exit "$code"
  set +e
  exec >&3 2>&4
  stop_ticker
  stop_loops
  stop_jobs
  if tests=$(grep --no-filename --no-messages '^test .* \.\.\. .*FAILED' /dev/null "${unfinished[@]}"); then
    printf '\nfailed in jobs that did not end:\n%s\n' "$tests"
  fi
  printf '\n%s%-10s %12s  %s%s\n' "$bold" step time result "$plain"
  for step in "${seen_steps[@]}"; do
    result=ok ended=${step_ended[$step]:-}
    if [ -n "${step_failed[$step]:-}" ]; then
      result=failed failures+=("$step")
    elif ((step_jobs[$step])); then
      result=stopped ended=$EPOCHSECONDS
      if [ -z "${step_began[$step]:-}" ]; then result='not run'; fi
    fi
    printf '%-10s %12s  %s\n' "$step" "$(format_duration $((ended - ${step_began[$step]:-ended})))" "$result"
  done
  if ((code)) && [ -z "$interrupted${failures[*]}" ]; then failures=("$current"); fi
  summary="$passed tests passed, $failed failed, $(format_duration $((EPOCHSECONDS - began)))"
  say
  if [ "$code" = 0 ]; then
    say "${green}ok: ${#seen_steps[@]} steps, $summary$plain"
  else
    if [ -n "$interrupted" ]; then say "${red}INTERRUPTED: $summary$plain"; fi
    if ((${#failures[@]})); then say "${red}FAILED in$(printf " \`%s\`" "${failures[@]}"): $summary$plain"; fi
    for step in "${failures[@]}"; do
      if ((${#failures[@]} > 1)); then printf '\n%s:\n' "$step"; fi
      explain_failure "$step"
    done
  fi
  rm -rf -- "$scratch"
  exit "$code"
}

# read_arguments ARGUMENT...: sets `wanted`, the steps, `is_every_run`, if none is named, `parts`, their numbers, `repeated`, the arguments of
# `repeat_tests`, and `test_arguments`
read_arguments() {
  local times=10 number shard
  while (($#)); do
    case $1 in
      --)
        test_arguments=("${@:2}")
        break
        ;;
      all)
        if [ "${2:-}" = --part ]; then
          [[ ${3:-} =~ ^[1-9]$ && ${3} -le ${#part_table[@]} ]] || die "\`--part\` needs a number from 1 to ${#part_table[@]}" "./dev test --help"
          parts+=("$3")
          shift 2
        else
          shard=''
          if [ "${2:-}" = --shard ]; then
            [[ ${3:-} =~ ^[12]$ ]] || die "\`--shard\` needs 1 or 2" "./dev test --help"
            shard=$3
            shift 2
          fi
          if [ "$shard" != 2 ]; then wanted+=("${steps[@]}"); fi
          if [ "$shard" != 1 ]; then
            for ((number = 1; number <= ${#part_table[@]}; number++)); do parts+=("$number"); done
          fi
        fi
        ;;
      steady)
        if [ "${2:-}" = --times ]; then
          [[ ${3:-} =~ ^[1-9][0-9]*$ ]] || die "\`--times\` needs a number" "./dev test steady [--times N] [NAME...]"
          times=$3
          shift 2
        fi
        repeated=("$times" "${@:2}")
        break
        ;;
      *)
        [[ " ${steps[*]} " == *" $1 "* ]] || die "unknown step \`$1\`" "The steps are: ${steps[*]} all steady"
        wanted+=("$1")
        ;;
    esac
    shift
  done
  ((${#wanted[@]} + ${#parts[@]} + ${#repeated[@]})) || wanted=("${every_run[@]}") is_every_run=1
}

is_wanted() { [[ " ${wanted[*]} " == *" $1 "* ]]; }

# run_steps: runs the jobs of the steps in `wanted`. The longest come first, but those that others wait for.
run_steps() {
  local step lane_steps=()
  for step in e2e stack; do
    if is_wanted "$step"; then lane_steps+=("$step"); fi
  done
  if is_wanted fmt; then add_job fmt fmt '' step_fmt; fi
  # Clippy compiles then, which takes less than a check beside it.
  if is_wanted lint && { is_wanted test || ((${#lane_steps[@]})); }; then
    need_component clippy clippy
    build_wrapper=$root/tests/dev/clippy-build
  fi
  if is_wanted test || ((${#lane_steps[@]})); then add_build; fi
  if is_wanted setup || ((${#lane_steps[@]})); then add_setup; fi
  if is_wanted test; then
    add_job test test 'fmt build' step_test
    add_job doc test 'fmt build' test_documentation
  fi
  if is_wanted nix; then
    # Not in the job, beside the build: rustup changes the toolchain.
    need_rust
    need_target "$(uname -m)-unknown-linux-musl"
    add_job nix nix fmt step_nix
  fi
  # One after another, because cargo locks `target`, and because compilers would take the processor from tests that wait.
  # The last one uses all cores, also when no test is left.
  if is_wanted deny; then add_job deny deny 'fmt build doc' step_deny; fi
  if is_wanted static; then add_job static static 'fmt build doc deny nix' step_static; fi
  if is_wanted lint; then add_job lint lint 'fmt build doc deny nix static' step_lint; fi
  if ((${#lane_steps[@]})); then run_lanes "${lane_steps[@]}"; else run_jobs; fi
}

run_tests() {
  local wanted=() is_every_run='' parts=() repeated=() part
  test_arguments=()
  read_arguments "$@"
  if [ -t 1 ]; then test_arguments+=(--color always) && export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-always}; fi

  began=$EPOCHSECONDS passed=0 failed=0 current=start interrupted='' ticker='' lane_filter='' lane_third='' lanes_of='' build_wrapper=''
  scratch=$(mktemp -d)
  programs=$scratch/programs
  exec 3>&1 4>&2
  trap report EXIT
  trap 'interrupted=1 && exit 130' INT
  trap 'interrupted=1 && exit 143' TERM
  trap 'interrupted=1 && exit 129' HUP
  start_ticker
  if ((${#wanted[@]})); then run_steps; fi
  for part in "${parts[@]}"; do run_part "$part"; done
  if ((${#repeated[@]})); then repeat_tests "${repeated[@]}"; fi
}
