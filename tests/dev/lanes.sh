# Lanes of the ignored tests in tests/it: jobs with a test network and a Chromium of their own.
# shellcheck shell=bash disable=SC2034,SC2154

# Name, step, the tests as an extended regular expression, and arguments of the test program. A test is in the first lane that has it.
# Lanes start in this order, the longest first, so that none is left alone at the end.
lane_table=(
  "only-in-all only-in-all ^($(sed '/^#/d; /^stack::[^p]/d' tests/dev/only-in-all | paste -sd '|'))\$ --test-threads 6"
  "only-in-all-stack only-in-all ^($(grep '^stack::[^p]' tests/dev/only-in-all | paste -sd '|'))\$ --test-threads 16"
  # Tests that wait for minutes, and one that takes the whole machine from the others.
  "long long ^(stack::long|e2e::own_browser::flooding_)"
  # Tests that need nothing of npm, without it. run_long_extras_and_without_npm knows them.
  "cdp cdp ^$"
  # Tests of large packages, which are installed for them.
  "extras extras ^(e2e::(agent_libraries|apps|platform)|serve::monitoring)::"
  # Tests that start agent-browser's CLI most often.
  "forms e2e ^e2e::(forms|runtime_pages|sandbox|sessions)::"
  # Tests with the same stack share it, and the others wait until it ends. With many threads, fewer stacks are started.
  "stack stack ^stack::[^p] --test-threads 16"
  "gate-f-k e2e ^e2e::gate::[f-k]"
  "gate-s-z e2e ^e2e::gate::[s-z]"
  "gate-q-r e2e ^e2e::gate::[qr]"
  "gate-b-e e2e ^e2e::gate::[b-e]"
  "flow e2e ^e2e::[^g]"
  # These open ports that the other tests of the stack expect to be closed.
  "policies stack ^stack::p"
  "gate-l-o e2e ^e2e::gate::[l-o]"
  "runtime e2e ^runtime::"
  # All that is not in e2e.
  "rest e2e ^([^e]|e[^2])"
  "gate-pa-pe e2e ^e2e::gate::p[a-e]"
  "gate-a e2e ^e2e::gate::a"
  "gate-pi-pr e2e ^e2e::g"
)

# The tests of each lane, and its arguments of the test program.
declare -A lane_tests=() lane_arguments=()

# lane_of TEST STEP...: sets `lane`, that of a test in a run of these steps
lane_of() {
  local row fields
  lane=cdp
  if [[ -n ${lane_cdp:-} && $1 =~ $lane_cdp ]]; then return; fi
  for row in "${lane_table[@]}"; do
    read -r -a fields <<<"$row"
    lane=${fields[0]}
    # By its name, a test of that lane is found in any step.
    if [[ $lane == only-in-all* ]] && [ -n "$has_names" ] && [ "$2" != "$lane" ]; then continue; fi
    if [[ $1 =~ ${fields[2]} ]]; then return; fi
  done
}

# read_options: sets `options`, the arguments of the test programs without names of tests, which have chosen the tests already,
# and `has_names`
read_options() {
  local argument value=''
  options=() has_names=''
  for argument in "${test_arguments[@]}"; do
    if [ -n "$value" ]; then
      value='' && options+=("$argument")
      continue
    fi
    case $argument in
      --exact | --ignored | --include-ignored) ;;
      --color | --format | --logfile | --shuffle-seed | --skip | --test-threads | -Z) value=1 && options+=("$argument") ;;
      -*) options+=("$argument") ;;
      *) has_names=1 ;;
    esac
  done
}

# run_lanes STEP...: runs the lanes of these steps
run_lanes() {
  add_build
  add_setup
  if is_pending build; then run_jobs build; fi
  add_lanes "$@"
  run_jobs
}

# add_lanes STEP...: adds a job for each lane of these steps that has tests: those that match the arguments of the run and
# `lane_filter`, an extended regular expression. With `lane_third`, a number from 0 to 2, every third of them. With `lanes_of`, the
# jobs belong to that step of the run.
add_lanes() {
  local count=0 found='' row name step arguments options has_names test lane before
  lane_tests=() lane_arguments=() current=${lanes_of:-$*}
  integration=$(integration_program)
  read_options
  while IFS= read -r test; do
    [[ $test =~ $lane_filter ]] || continue
    if [ -n "$lane_third" ] && ((count++ % 3 != lane_third)); then continue; fi
    lane_of "$test" "$@"
    lane_tests[$lane]+=" $test"
  done < <("$integration" --list --ignored "${test_arguments[@]}" | sed -n 's/: test$//p')
  for row in "${lane_table[@]}"; do
    read -r name step _ arguments <<<"$row"
    if [[ " $* " != *" $step "* ]]; then continue; fi
    if [ -n "${lane_tests[$name]:-}" ]; then
      found=1 before=setup
      # An option can be given once only.
      if [[ " ${options[*]}" == *" --test-threads"* ]]; then arguments=''; fi
      lane_arguments[$name]=$arguments
      if [ "$name" = extras ]; then
        add_job extra-setup setup setup tests/e2e/setup extras
        before=extra-setup
      fi
      add_job "$name" "${lanes_of:-$step}" "$before" run_lane "$name"
    elif [ -z "$has_names$lane_filter" ]; then
      die "no test belongs to the lane \`$name\`" "They are the ignored tests in tests/it. See lane_table in tests/dev/lanes.sh."
    fi
  done
  [ -n "$found" ] || die "no ignored test of \`$*\` matches: ${test_arguments[*]} $lane_filter" "$integration --list --ignored"
  # There is one network only.
  if [ "${BROWSER_SHELL_TEST_NETWORK:-}" = 1 ]; then jobs_at_once=1; fi
}

# run_lane NAME: runs the test program in a network of its own
run_lane() {
  local tests arguments options has_names
  local -x PATH=$PATH BROWSER_SHELL_TEST_AGENT_BROWSERS=${BROWSER_SHELL_TEST_AGENT_BROWSERS:-default} INSTA_WORKSPACE_ROOT=$root
  if [ "$1" = cdp ]; then PATH=$(path_without_npm) BROWSER_SHELL_TEST_AGENT_BROWSERS=none; fi
  read -r -a tests <<<"${lane_tests[$1]}"
  read -r -a arguments <<<"${lane_arguments[$1]}"
  read_options
  # Its network ends with it, and every process in that. `unshare` ignores the signal that ends jobs, so it gets another one when its
  # parent ends, which is this shell: it must not be replaced by its last command.
  setpriv --pdeathsig KILL tests/e2e/in-test-network "$integration" --ignored --exact "${arguments[@]}" "${options[@]}" "${tests[@]}" || return
}

# path_without_npm: prints a PATH with all programs but those of Node, npm and agent-browser
path_without_npm() {
  local folders folder=$scratch/without-npm
  IFS=: read -r -a folders <<<"$PATH"
  mkdir -p "$folder"
  # Of two programs of a name, the first one is on the path.
  find -L "${folders[@]}" -mindepth 1 -maxdepth 1 -type f ! -name 'node*' ! -name 'npm*' ! -name 'npx*' ! -name 'corepack*' ! -name 'agent-browser*' \
    -exec ln --symbolic --target-directory="$folder" {} + 2>/dev/null || :
  if PATH=$folder command -v node npm npx agent-browser >/dev/null; then die "Node or agent-browser is still on the path" "See path_without_npm."; fi
  echo "$folder"
}
