# Jobs of `./dev test`: they run beside each other, because tests wait more than they compute. Each is a process group with a file
# for its output, which is printed when it ends.
# shellcheck shell=bash disable=SC2034,SC2154

# Jobs that run at the same time. They use two cores completely; with more, each test waits longer for a core, and none ends earlier.
jobs_at_once=${BROWSER_SHELL_TEST_LANES:-5}

# The jobs that have not begun, in the order of their start.
waiting=()
# The jobs that run, by process group. `live` is the one whose lines are printed at once.
declare -A running=()
live=''
# Of each job: its step, the jobs that have to end before it starts, its command, the time of its start, and whether it passed.
declare -A step_of=() after=() command_of=() started=() is_done=()
# Of each step: the time of its first start and of its last end, the number of jobs that have not ended, and whether one failed.
seen_steps=()
declare -A step_began=() step_ended=() step_jobs=() step_failed=()

# add_job NAME STEP AFTER COMMAND...: adds a job that starts when none of the jobs in AFTER, a list of names, waits or runs
add_job() {
  waiting+=("$1")
  step_of[$1]=$2 after[$1]=$3 command_of[$1]=${*:4}
  if [ -z "${step_jobs[$2]:-}" ]; then seen_steps+=("$2"); fi
  step_jobs[$2]=$((${step_jobs[$2]:-0} + 1))
}

is_pending() { [[ " ${waiting[*]} ${running[*]} " == *" $1 "* ]]; }

may_start() {
  local other
  ((${#running[@]} < jobs_at_once)) || return 1
  for other in ${after[$1]}; do ! is_pending "$other" || return 1; done
}

# run_jobs [NAME]: runs the jobs until all have ended, or until this one has. Fails if one of them failed.
run_jobs() {
  local index name id ended code failures=0
  while :; do
    for index in "${!waiting[@]}"; do
      name=${waiting[index]}
      if may_start "$name"; then
        unset "waiting[index]"
        start_job "$name"
      fi
    done
    ((${#running[@]})) || break
    write_running
    # `wait -n` misses a job that ends between two calls of it, and those that ended while job control was on.
    ended='' code=0
    until [ -n "$ended" ]; do
      for id in "${!running[@]}"; do
        if ! kill -0 "$id" 2>/dev/null; then ended=$id; fi
      done
      [ -n "$ended" ] || pause 0.2
    done
    wait "$ended" || code=$?
    name=${running[$ended]}
    unset "running[$ended]"
    write_running
    end_job "$name" "$code" || failures=$((failures + 1))
    if [ "$name" = "${1:-}" ]; then break; fi
  done
  ((${#waiting[@]} == 0)) || [ -n "${1:-}" ] || die "these jobs cannot start: ${waiting[*]}" "BROWSER_SHELL_TEST_LANES is the number of jobs, from 1."
  ((failures == 0))
}

# start_job NAME
start_job() {
  local step=${step_of[$1]} command
  read -r -a command <<<"${command_of[$1]}"
  started[$1]=$EPOCHSECONDS
  : "${step_began[$step]:=$EPOCHSECONDS}"
  # With job control it has a process group of its own.
  set -m
  # Beside the first two, only the installation and `nix` run, and beside a job that is alone nothing.
  if [[ $1 =~ ^(fmt|build)$ ]] || ((${#waiting[@]} + ${#running[@]} == 0)); then
    print_heading "$1"
    { "${command[@]}" 2>&1 3>&- 4>&- | tee -- "$scratch/output.$1"; } </dev/null &
    live=$1
  else
    "${command[@]}" </dev/null >"$scratch/output.$1" 2>&1 3>&- 4>&- &
  fi
  running[$!]=$1
  set +m
}

# end_job NAME CODE: prints what a job did, and fails if it failed. What is no test ends the run.
end_job() {
  local step=${step_of[$1]} output=$scratch/output.$1
  count_tests "$output"
  step_ended[$step]=$EPOCHSECONDS step_jobs[$step]=$((step_jobs[$step] - 1))
  # At once, because a live job prints meanwhile.
  describe_end "$1" "$2" >"$scratch/ended"
  cat -- "$scratch/ended"
  if [ "$live" = "$1" ]; then live=''; fi
  if [ "$2" = 0 ]; then
    is_done[$1]=1
    return
  fi
  step_failed[$step]=1
  cat -- "$output" >>"$scratch/failed.$step"
  # All tests that fail are to be known after one run.
  if [[ $step =~ ^(test|e2e|stack|steady)$|^part ]]; then return 1; fi
  exit 1
}

# describe_end NAME CODE: prints the output of a job, unless it was printed at once, and whether it failed
describe_end() {
  local output=$scratch/output.$1 result
  if [ "$live" != "$1" ]; then
    print_heading "$1"
    cat -- "$output"
  fi
  result="$1, $(format_duration $((EPOCHSECONDS - started[$1])))"
  if [ "$2" = 0 ]; then
    say "${green}ok$plain $result"
    return
  fi
  if [[ ${command_of[$1]} == run_lane* ]] && ! grep --quiet '^test result: ' -- "$output"; then say "error: the tests ended early"; fi
  say "${red}FAILED$plain $result, exit code $2"
}

# print_heading JOB
print_heading() {
  local step=${step_of[$1]} title=$1
  if [ "$1" = "$step" ]; then title+=": $(describe "$step")"; else title+=", of $step"; fi
  printf '\n%s== %s%s\n' "$bold" "$title" "$plain"
}

# count_tests FILE: adds the test counts of an output to the summary
count_tests() {
  local line
  while IFS= read -r line; do
    [[ $line =~ ^'test result: '.*\ ([0-9]+)\ passed\;\ ([0-9]+)\ failed ]] || continue
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
  done <"$1"
}

# write_running: writes the jobs that run into a file, for the ticker
write_running() {
  local id
  for id in "${!running[@]}"; do printf '%s %s\n' "$id" "${running[$id]}"; done >"$scratch/running"
}

# has_processes GROUP: succeeds if a process of this group runs. Nobody may wait for those that have ended.
has_processes() {
  local file line
  for file in /proc/[0-9]*/stat; do
    { IFS= read -r -d '' line <"$file" || :; } 2>/dev/null
    # After the name: the state, the parent, the group.
    if [[ ${line##*) } =~ ^[^XZ]\ [0-9]+\ $1\  ]]; then return; fi
  done
  return 1
}

# stop_jobs: ends the jobs that run, but apt, for which it waits
stop_jobs() {
  local id
  {
    for id in "${!running[@]}"; do kill -TERM -- "-$id"; done
    for id in "${!running[@]}"; do
      while has_processes "$id"; do pause 0.1; done
      wait "$id"
    done
  } 2>/dev/null
  running=()
}

# stop_jobs_of_killed: ends the jobs of a script that was killed
stop_jobs_of_killed() {
  local id name
  set +e
  while read -r id name; do running[$id]=$name; done <"$scratch/running"
  stop_jobs
  rm -rf -- "$scratch"
}

# start_ticker: prints each minute which jobs run. If this script is killed, it ends them.
start_ticker() {
  (
    count=0
    while pause 5 && kill -0 "$$" 2>/dev/null; do
      count=$((count + 1))
      ((count % 12)) || note "$(format_duration $((EPOCHSECONDS - began))), running: $(cut -d ' ' -f 2- -- "$scratch/running" | paste -sd ' ')"
    done
    stop_jobs_of_killed
  ) 3>&- 4>&- &
  ticker=$!
}

stop_ticker() {
  [ -n "$ticker" ] || return 0
  kill "$ticker" 2>/dev/null || :
  wait "$ticker" 2>/dev/null || :
  ticker=''
}
