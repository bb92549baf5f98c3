# The seven parts of `./dev test all`: what takes too long for every change. `./dev test` runs another one for each commit, so
# that none is run once a year only.
# shellcheck shell=bash disable=SC2034,SC2154

# Each is to take at most 3 minutes on two cores.
part_table=(
  "the licenses, sources and build scripts of all dependencies"
  "the static program for the other architecture, in QEMU"
  "the gate with the agent-browser in Node, first half"
  "the gate with the agent-browser in Node, second half"
  "the other end-to-end tests with the agent-browser in Node"
  "the tests in the sandbox with tools that are one program, as in nixpkgs"
  "the tests that wait for minutes"
)

# chosen_part: prints the number of the part that belongs to the current commit
chosen_part() {
  is_checkout || die "not a git checkout, and the part to run depends on the commits" "Name the steps: ./dev test fmt lint test"
  need_history "the part to run"
  echo $(($(git rev-list --count HEAD) % ${#part_table[@]} + 1))
}

# run_part NUMBER
run_part() {
  case $1 in
    1) check_dependencies ;;
    2) check_static_of_other_machine ;;
    3) run_with_node '^e2e::gate::[a-d]' ;;
    4) run_with_node '^e2e::gate::[^a-d]' ;;
    5) run_with_node '^(e2e::[^g]|[^e]|e[^2])' ;;
    6) run_with_one_program ;;
    7) run_lanes long ;;
  esac
}

# run_with_node PATTERN: runs end-to-end tests with the agent-browser that has a daemon in Node
run_with_node() {
  local -x BROWSER_SHELL_TEST_AGENT_BROWSERS=node
  local lane_filter=$1
  run_lanes e2e
}

run_with_one_program() {
  build_tests
  need_sandbox
  counted tests/nix/sandbox --busybox "${test_arguments[@]}" <"$programs"
}

step_part() {
  part=${1:-$(chosen_part)}
  current="part $part" repeat="./dev test all --part $part --"
  note "part $part of ${#part_table[@]}: ${part_table[part - 1]}"
  run_part "$part"
}
