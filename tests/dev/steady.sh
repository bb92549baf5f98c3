# `./dev test steady`: tests, repeated beside busy loops. What depends on time fails here, not in the run of someone else.
# shellcheck shell=bash disable=SC2034,SC2154

# The processes of the busy loops.
loops=()

# busy_loop: computes until this script has ended
busy_loop() {
  local i
  while kill -0 "$$" 2>/dev/null; do for ((i = 0; i < 100000; i++)); do :; done; done
}

stop_loops() {
  local id
  for id in "${loops[@]}"; do { kill "$id" && wait "$id"; } || :; done 2>/dev/null
  loops=()
}

# changed_tests: prints the names of the tests that this branch, and files that are not committed yet, add or change
changed_tests() {
  local base file diff=(git diff --unified=0 --no-color --no-ext-diff --src-prefix=a/ --dst-prefix=b/)
  is_checkout || die "not a git checkout, so it is not known which tests are new" "./dev test steady NAME..."
  need_history "which tests are new"
  base=$(default_branch)
  base=$(git merge-base "${base:-HEAD}" HEAD)
  {
    "${diff[@]}" "$base"
    while IFS= read -r -d '' file; do
      "${diff[@]}" --no-index /dev/null "$file" || :
    done < <(git ls-files -z --others --exclude-standard -- '*.rs')
  } | /usr/bin/python3 tests/dev/changed-tests
}

# names_of PROGRAM [FLAG...]: prints the tests of a program that match `pattern`
names_of() {
  "$@" --list --format terse | sed -n 's/: test$//p' | grep --extended-regexp -- "$pattern" || :
}

# run_once: runs the tests of the sandbox in `sandboxed`, and the lanes if `ignored` has tests
run_once() {
  local lane_filter=$pattern
  if ((${#sandboxed[@]})); then add_job sandbox steady '' run_sandboxed; fi
  if [ -n "$ignored" ]; then add_lanes e2e stack only-in-all long extras; fi
  run_jobs
}

run_sandboxed() { tests/nix/sandbox --exact "${sandboxed[@]}" <"$scratch/chosen"; }

# repeat_tests TIMES [NAME...]: repeats the tests with these names, or those that changed
repeat_tests() {
  local times=$1 names pattern sandboxed=() ignored='' folder program found count repetition start bad=() lanes_of=steady
  current=steady
  shift
  need_system_python
  if (($#)); then
    pattern=$(IFS='|' && echo "$*")
  else
    names=$(changed_tests)
    [ -n "$names" ] || die "this branch adds and changes no test" "./dev test steady NAME..."
    pattern="(^|::)(${names//$'\n'/|})\$"
  fi
  add_build
  run_jobs
  integration=$(integration_program)
  while IFS=$'\t' read -r folder program; do
    found=$(names_of "$program")
    if [ "$program" = "$integration" ]; then
      ignored=$(names_of "$program" --ignored)
      found=$(comm -23 <(sort <<<"$found") <(sort <<<"$ignored"))
    fi
    [ -n "$found" ] || continue
    mapfile -t -O "${#sandboxed[@]}" sandboxed <<<"$found"
    grep --fixed-strings -- "\"$program\"" "$programs" >>"$scratch/chosen"
  done < <(test_programs "$programs")
  count=$((${#sandboxed[@]} + $(grep --count . <<<"$ignored" || :)))
  ((count)) || die "no test matches: $pattern" "$integration --list"
  say "$count tests, $times times:"
  printf '   %s\n' "${sandboxed[@]}" ${ignored:+"$ignored"}
  if ((${#sandboxed[@]})); then need_sandbox; fi
  if [ -n "$ignored" ]; then
    add_setup
    run_jobs
  fi

  busy_loop &
  loops+=($!)
  busy_loop &
  loops+=($!)
  for ((repetition = 1; repetition <= times; repetition++)); do
    start=$EPOCHSECONDS
    if run_once >"$scratch/once" 2>&1; then
      say "${green}ok$plain repetition $repetition of $times, $(format_duration "$((EPOCHSECONDS - start))")"
    else
      bad+=("$repetition")
      say "${red}FAILED$plain repetition $repetition of $times:"
      cat -- "$scratch/once"
    fi
  done
  stop_loops
  ((${#bad[@]} == 0)) || { say "FAILED in ${#bad[@]} of $times repetitions: ${bad[*]}" && return 1; }
}
