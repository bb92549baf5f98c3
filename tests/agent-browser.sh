# agent-browser as tests/e2e/setup installs it, for bash scripts. They define `die`.
# shellcheck shell=bash

# choose_agent_browser PATH: sets `agent_browser` to the program that PATH names, itself or by the folder of its package. Without
# PATH it is the native one, which need not be installed yet.
choose_agent_browser() {
  local machine packages=tests/e2e/node_modules
  case $(uname -m) in
    x86_64) machine=x64 ;;
    aarch64) machine=arm64 ;;
    *) die "agent-browser has no binary for \`$(uname -m)\`" ;;
  esac
  agent_browser=${1:-$packages/agent-browser-native/bin/agent-browser-linux-$machine}
  if [ -d "$agent_browser" ]; then agent_browser=$agent_browser/bin/agent-browser-linux-$machine; fi
  if [ -n "$1" ] && { [ ! -f "$agent_browser" ] || [ ! -x "$agent_browser" ]; }; then
    die "there is no agent-browser \`$1\`" "Name a program or the folder of its package, such as $packages/agent-browser."
  fi
}
