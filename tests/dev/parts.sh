# The parts of `./dev test all`: what takes too long for every change.
# shellcheck shell=bash disable=SC2034,SC2154

# Each is to take at most 3 minutes on two cores.
part_table=(
  "dependencies: licenses, their texts, sources and build scripts"
  "the other architecture: clippy, the static program in QEMU, its bytes"
  "end-to-end tests with the native agent-browser, the first third"
  "end-to-end tests with the native agent-browser, the second third"
  "end-to-end tests with the native agent-browser, the last third"
  "the tests in the sandbox with tools that are one program, as in nixpkgs"
  "slow tests, \`cdp\` without npm, agent libraries, Prometheus, apps, pages"
  "images in real registries: push, pull, load, mirror, verify"
  "tests that take too long for each change, with both agent-browsers"
)

# run_part NUMBER
run_part() {
  local lanes_of="part $1"
  current=$lanes_of
  case $1 in
    1) run_alone check_dependencies_and_licenses ;;
    2) run_alone check_other_machine ;;
    3 | 4 | 5) run_with_native $(($1 - 3)) ;;
    6) run_alone run_with_one_program ;;
    7) run_long_extras_and_without_npm ;;
    8) run_alone check_registries ;;
    9) run_only_in_all ;;
  esac
}

# run_alone COMMAND: runs a part that is one job
run_alone() {
  if [[ $1 =~ ^(check_other|run_with) ]]; then add_build; fi
  add_job "$current" "$current" build "$1"
  run_jobs
}

check_dependencies_and_licenses() {
  check_dependencies
  check_crate_licenses
}

# run_with_native THIRD: runs a third of the tests to which the version of agent-browser can matter, with the native one. They are in the
# files that ask for a version; the other tests would be the same ones again.
run_with_native() {
  local -x BROWSER_SHELL_TEST_AGENT_BROWSERS=native
  local lane_filter lane_third=$1
  lane_filter=$(grep --recursive --files-with-matches --extended-regexp '\b(agent_browsers|agent_browsers_with)\(' tests/it |
    sed --regexp-extended 's|^tests/it/||; s|\.rs$||; s#^(serve|runtime)/.*#\1#; s|/|::|g; s|$|::|' | sort --unique | paste --serial --delimiters='|')
  [ -n "$lane_filter" ] || die "no file in tests/it asks for an agent-browser" "See agent_browsers in tests/it/e2e/test_env.rs."
  lane_filter="^($lane_filter)"
  run_lanes e2e
}

# run_long_extras_and_without_npm: runs the tests that wait for minutes and those of the agent libraries, of Prometheus, of real
# applications and of our own pages, and beside them those that need nothing of npm, without it. They are in the files that ask neither for
# an agent-browser, a compromised one included, nor for Node.
run_long_extras_and_without_npm() {
  local lane_cdp
  lane_cdp=$(grep --recursive --files-without-match --extended-regexp \
    '\b(agent_browsers?|agent_libraries_python|agent_browsers_with|attack|attacked|attacker|default_env|native|native_without_libraries|node|platform_run|prometheus|python)\(' tests/it/e2e tests/it/serve |
    sed --regexp-extended 's|^tests/it/||; s|\.rs$||; s|/mod$||; s|/|::|g' | sort --unique | paste --serial --delimiters='|')
  lane_cdp="^($lane_cdp)::[a-z0-9_]+$"
  run_lanes long cdp extras
}

# run_only_in_all: runs the tests of tests/dev/only-in-all
run_only_in_all() {
  local -x BROWSER_SHELL_TEST_AGENT_BROWSERS=all
  run_lanes only-in-all
}

# check_registries: pushes images to real registries, pulls them, and verifies others
check_registries() {
  need skopeo skopeo
  need podman podman
  need jq jq
  need zstd zstd
  need curl curl
  need node nodejs
  need npm npm
  need_unpacked docker-registry download_package
  # Version 3, which reads the attestations of actions/attest, is in Debian's unstable distribution alone.
  need_unpacked cosign download_unstable
  PATH=$tools/bin:$PATH tests/nix/registry
  PATH=$tools/bin:$PATH tests/nix/verify
}

run_with_one_program() {
  need_sandbox
  tests/nix/sandbox --busybox "${test_arguments[@]}" <"$programs"
}
