# Lanes of the ignored tests in tests/it: each has a test network and a Chromium of its own, and lanes run beside each other,
# because most tests wait more than they compute.
# shellcheck shell=bash disable=SC2034,SC2154

# Name, step, the tests as an extended regular expression, and arguments of the test program. A test is in the first lane that has it.
# Lanes start in this order. Each of every run takes about five minutes, so that none is left alone at the end.
lane_table=(
  # Tests that wait for minutes, and one that takes the whole machine from the others.
  "long long ^(stack::long|e2e::own_browser::flooding_)"
  # Tests that need nothing of npm, without it. run_long_extras_and_without_npm knows them.
  "cdp cdp ^$"
  # Tests of large packages, which are installed for them.
  "extras extras ^(e2e::(agent_libraries|apps)|serve::monitoring)::"
  # These open ports that the other tests of the stack expect to be closed.
  "policies stack ^stack::policies::"
  # Tests with the same stack share it, and the others wait until it ends. With many threads, fewer stacks are started.
  "stack stack ^stack:: --test-threads 16"
  "gate-p e2e ^e2e::gate::p"
  # Tests that start agent-browser's CLI most often.
  "forms e2e ^e2e::(forms|runtime_pages|sandbox|sessions)::"
  "gate-a-e e2e ^e2e::gate::[a-e]"
  "gate-f-k e2e ^e2e::gate::[f-k]"
  # All that is not in e2e.
  "rest e2e ^([^e]|e[^2])"
  "gate-l-o e2e ^e2e::gate::[l-o]"
  "gate-q-z e2e ^e2e::gate::"
  "e2e e2e ^e2e::"
)

# Lanes that run at the same time. They use two cores completely; with fewer, cores are idle while tests wait.
lanes_at_once=${BROWSER_SHELL_TEST_LANES:-6}
# The processes of the lanes that run, with the name of each.
declare -A lanes=()

# lane_of TEST: sets `lane`, that of a test
lane_of() {
  local row fields
  lane=cdp
  if [[ -n ${lane_cdp:-} && $1 =~ $lane_cdp ]]; then return; fi
  for row in "${lane_table[@]}"; do
    read -r -a fields <<<"$row"
    lane=${fields[0]}
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

# run_lanes STEP...: runs the ignored tests of these steps. Of each lane, only those that match the arguments of the run and
# `lane_filter`, an extended regular expression. With `lane_third`, a number from 0 to 2, every third of them.
run_lanes() {
  local count=0 row name step arguments options has_names test tests lane ended code failed_lanes=() waiting=()
  local -A chosen=() extra=()
  build_tests
  require_setup
  read_options
  while IFS= read -r test; do
    [[ $test =~ $lane_filter ]] || continue
    if [ -n "$lane_third" ] && ((count++ % 3 != lane_third)); then continue; fi
    lane_of "$test"
    chosen[$lane]+=" $test"
  done < <("$integration" --list --ignored "${test_arguments[@]}" | sed -n 's/: test$//p')
  for row in "${lane_table[@]}"; do
    read -r name step _ arguments <<<"$row"
    if [[ " $* " != *" $step "* ]]; then continue; fi
    if [ -n "${chosen[$name]:-}" ]; then
      waiting+=("$name")
      # An option can be given once only.
      if [[ " ${options[*]}" != *" --test-threads"* ]]; then extra[$name]=$arguments; fi
    elif [ -z "$has_names$lane_filter" ]; then
      die "no test belongs to the lane \`$name\`" "They are the ignored tests in tests/it. See lane_table in tests/dev/lanes.sh."
    fi
  done
  ((${#waiting[@]})) || die "no ignored test of \`$*\` matches: ${test_arguments[*]} $lane_filter" "$integration --list --ignored"

  if [[ " ${waiting[*]} " == *" extras "* ]]; then tests/e2e/setup extras || return; fi

  # There is one network only.
  if [ "${BROWSER_SHELL_TEST_NETWORK:-}" = 1 ]; then lanes_at_once=1; fi
  while ((${#waiting[@]} + ${#lanes[@]})); do
    while ((${#waiting[@]} && ${#lanes[@]} < lanes_at_once)); do
      name=${waiting[0]} waiting=("${waiting[@]:1}")
      read -r -a tests <<<"${chosen[$name]}"
      read -r -a arguments <<<"${extra[$name]:-}"
      start_lane "$name" "${arguments[@]}" "${options[@]}" "${tests[@]}"
    done
    show_lanes
    ended='' code=0
    wait -n -p ended "${!lanes[@]}" || code=$?
    name=${lanes[$ended]}
    unset "lanes[$ended]"
    show_lanes
    end_lane "$name" "$code" || failed_lanes+=("$name")
  done
  ((${#failed_lanes[@]} == 0))
}

# start_lane NAME ARGUMENT...: starts the test program in a network of its own
start_lane() {
  local name=$1
  local -x PATH=$PATH BROWSER_SHELL_TEST_AGENT_BROWSERS=${BROWSER_SHELL_TEST_AGENT_BROWSERS:-default}
  shift
  if [ "$name" = cdp ]; then PATH=$(path_without_npm) BROWSER_SHELL_TEST_AGENT_BROWSERS=none; fi
  date +%s >"$scratch/lane.$name.began"
  # Its network ends with it, and every process in that.
  INSTA_WORKSPACE_ROOT=$root tests/e2e/in-test-network "$integration" --ignored --exact "$@" \
    </dev/null >"$scratch/lane.$name" 2>&1 3>&- 4>&- &
  lanes[$!]=$name
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

# end_lane NAME CODE: prints the output of a lane, and fails if the lane has failed
end_lane() {
  local code=$2
  say
  say "${bold}lane $1$plain, $(format_duration $(($(date +%s) - $(cat -- "$scratch/lane.$1.began"))))"
  cat -- "$scratch/lane.$1"
  count_tests "$scratch/lane.$1"
  grep --quiet '^test result: ' -- "$scratch/lane.$1" || say "error: the tests of the lane $1 ended early, with exit code $code"
  return "$code"
}

# show_lanes: tells the ticker which lanes run
show_lanes() { printf '%s' "${lanes[*]:+; lanes: ${lanes[*]}}" >"$scratch/running"; }

# stop_lanes: ends all lanes
stop_lanes() {
  local id
  # `unshare` leaves other signals to its child, which is process 1 of its namespace and gets none.
  for id in "${!lanes[@]}"; do { kill -KILL "$id" && wait "$id"; } || :; done 2>/dev/null
  lanes=()
}
