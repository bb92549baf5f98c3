# A run of `./dev test`: its arguments, its steps one after another, and its report.
# shellcheck shell=bash disable=SC2034,SC2154

. tests/dev/packages.sh
. tests/dev/require.sh
. tests/dev/steps.sh
. tests/dev/lanes.sh
. tests/dev/parts.sh
. tests/dev/steady.sh

# start_ticker STEP: prints a line each minute when the output is not a terminal
start_ticker() {
  [ ! -t 3 ] || return 0
  (
    while pause 60 && kill -0 "$$" 2>/dev/null; do
      note "\`$1\` is still running, $(format_duration "$SECONDS")$(cat -- "$scratch/running" 2>/dev/null)"
    done
  ) &
  ticker=$!
}

stop_ticker() {
  [ -n "$ticker" ] || return 0
  kill "$ticker" 2>/dev/null || :
  wait "$ticker" 2>/dev/null || :
  ticker=''
}

# start_log: from here on, all output also goes to a file, for the report
start_log() {
  exec > >(exec tee --ignore-interrupts -- "$scratch/log") 2>&1
  log=$! log_pipe=$(readlink "/proc/$$/fd/1")
}

stop_log() {
  local descriptor
  [ -n "$log" ] || return 0
  exec >&3 2>&4
  # bash keeps a copy if it exits inside a redirection, and `tee` waits until there is none.
  for descriptor in "/proc/$$/fd"/*; do
    if [ "$(readlink "$descriptor")" = "$log_pipe" ]; then eval "exec ${descriptor##*/}>&-"; fi
  done
  wait "$log" || :
  log=''
}

# explain_failure: prints what failed in the current step, why, and the command that repeats it
explain_failure() {
  local names=()
  awk -f tests/dev/failures.awk "$scratch/log"
  mapfile -t names < <(awk -v names=1 -f tests/dev/failures.awk "$scratch/log" | sort --unique)
  say
  # With more names, the command would be as long as the list above.
  if ((${#names[@]} > 0 && ${#names[@]} <= 8)); then
    say "To repeat: $repeat$(printf ' %q' "${names[@]}")"
  else
    say "To repeat: ${repeat% --}"
  fi
}

# report: prints the summary, also after a failure or a signal
report() {
  local code=$? row name seconds result
  set +e
  stop_ticker
  stop_loops
  stop_lanes
  if [ -n "$beside" ]; then kill "$beside" && wait "$beside"; fi 2>/dev/null
  stop_log
  if [ -n "$setup" ]; then stop_setup; fi
  if [ -n "$current" ]; then table+=("$current|$SECONDS|failed"); fi
  printf '\n%s%-10s %12s  %s%s\n' "$bold" step time result "$plain"
  for row in "${table[@]}"; do
    IFS='|' read -r name seconds result <<<"$row"
    printf '%-10s %12s  %s\n' "$name" "$(format_duration "$seconds")" "$result"
  done
  say
  if [ "$code" = 0 ]; then
    say "${green}ok: ${#table[@]} steps, $passed tests passed, $failed failed, $(format_duration "$(($(date +%s) - began))")$plain"
  else
    say "${red}FAILED in \`$current\`: $passed tests passed, $failed failed, $(format_duration "$(($(date +%s) - began))")$plain"
    if [ -z "$interrupted" ]; then explain_failure; fi
  fi
  rm -rf -- "$scratch"
  exit "$code"
}

# read_arguments ARGUMENT...: sets `wanted`, the steps with their arguments, and `test_arguments`
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
          wanted+=("part $3")
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
            for ((number = 1; number <= ${#part_table[@]}; number++)); do wanted+=("part $number"); done
          fi
        fi
        ;;
      steady)
        if [ "${2:-}" = --times ]; then
          [[ ${3:-} =~ ^[1-9][0-9]*$ ]] || die "\`--times\` needs a number" "./dev test steady [--times N] [NAME...]"
          times=$3
          shift 2
        fi
        wanted+=("steady $times ${*:2}")
        break
        ;;
      *)
        [[ " ${steps[*]} " == *" $1 "* ]] || die "unknown step \`$1\`" "The steps are: ${steps[*]} all steady"
        wanted+=("$1")
        ;;
    esac
    shift
  done
  ((${#wanted[@]})) || wanted=("${every_run[@]}")
}

# join_lanes: makes one step of e2e and the stack that follows it
join_lanes() {
  local step joined=()
  for step in "${wanted[@]}"; do
    if [ "$step" = stack ] && ((${#joined[@]})) && [ "${joined[-1]}" = e2e ]; then
      joined[-1]=e2e_stack
    else
      joined+=("$step")
    fi
  done
  wanted=("${joined[@]}")
}

run_tests() {
  local wanted=() step arguments
  test_arguments=()
  read_arguments "$@"
  join_lanes
  if [ -t 1 ]; then test_arguments+=(--color always) && export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-always}; fi

  began=$(date +%s) passed=0 failed=0 current=start repeat='./dev test' interrupted='' table=()
  ticker='' beside='' setup='' is_set_up='' log='' programs='' lane_filter='' lane_third=''
  scratch=$(mktemp -d)
  : >"$scratch/log"
  exec 3>&1 4>&2
  trap report EXIT
  trap 'interrupted=1 && exit 130' INT
  trap 'interrupted=1 && exit 143' TERM
  trap 'interrupted=1 && exit 129' HUP
  # The installation would take the place of what the first steps need.
  if ((${#wanted[@]} > 1)) && [[ " ${wanted[*]} " == *" e2e"* || " ${wanted[*]} " == *" stack "* ]]; then
    need_rust
    start_setup
  fi
  for step in "${wanted[@]}"; do
    read -r -a arguments <<<"$step"
    current=${arguments[0]/_/ } SECONDS=0
    repeat="./dev test $current --"
    : >"$scratch/running"
    printf '\n%s== %s%s: %s\n' "$bold" "$current" "$plain" "$(describe "${arguments[@]}")"
    start_log
    start_ticker "$current"
    # Not inside `if` or with `||`: bash ignores `set -e` there.
    "step_${arguments[0]}" "${arguments[@]:1}"
    stop_ticker
    stop_log
    say "${green}ok$plain $current, $(format_duration "$SECONDS")"
    table+=("$current|$SECONDS|ok") current=''
  done
}
