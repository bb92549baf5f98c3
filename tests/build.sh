# Progress of a build in the background, for bash scripts. They define `note` and `pause`.
# shellcheck shell=bash

# Seconds between two lines when standard output is not a terminal.
progress_interval=15

# start_build LOG: starts the debug build of the program, whose process is then in `build`
start_build() {
  cargo build --locked --bin browser-shell >"$1" 2>&1 &
  build=$!
}

# wait_for_build LOG: shows progress until the build ends. If it fails, prints the compiler's messages and returns its exit code.
wait_for_build() {
  local began=$SECONDS shown=$SECONDS line code=0
  if [ ! -t 1 ]; then note "building; this takes minutes the first time"; fi
  while kill -0 "$build" 2>/dev/null; do
    line=$(tail -n 1 -- "$1" 2>/dev/null) || :
    line="building, $((SECONDS - began)) s: ${line#"${line%%[![:space:]]*}"}"
    if [ -t 1 ]; then
      # One line of the terminal, which the next one replaces.
      printf '\r   %.70s\e[K' "$line"
    elif ((SECONDS - shown >= progress_interval)); then
      note "$line"
      shown=$SECONDS
    fi
    pause 0.1
  done
  if [ -t 1 ]; then printf '\r\e[K'; fi
  wait "$build" || code=$?
  if [ "$code" != 0 ]; then grep -vE '^ *(Compiling|Downloaded|Downloading) ' -- "$1" >&2 || :; fi
  return "$code"
}
