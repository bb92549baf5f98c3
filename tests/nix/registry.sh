# Real registries for the scripts that source this: Debian's docker-registry, on loopback and free ports. `work` is a folder that the
# script removes when it ends, after `stop_registries`. HOME is in it: skopeo, podman and cosign read their configuration there.
# shellcheck shell=bash disable=SC2154

registries=()
export HOME=$work/home
mkdir -p -- "$HOME/.config/containers"

# start_registry NAME: starts a registry, and sets `registry` to its address. Its log is $work/NAME.log.
start_registry() {
  local log=$work/$1.log tries
  printf 'version: 0.1\nlog: { accesslog: { disabled: false } }\nstorage: { filesystem: { rootdirectory: %s } }\nhttp: { addr: "127.0.0.1:0" }\n' \
    "$work/$1" >"$work/$1.yml"
  : >"$log"
  docker-registry serve "$work/$1.yml" >>"$log" 2>&1 &
  registries+=($!)
  for ((tries = 0; tries < 100; tries++)); do
    registry=$(sed -n 's/.*msg="listening on \(127\.0\.0\.1:[0-9]*\)".*/\1/p' "$log")
    if [ -n "$registry" ]; then break; fi
    sleep 0.1
  done
  [ -n "$registry" ] || { printf 'the registry does not start\n' >&2 && cat -- "$log" >&2 && return 69; }
  printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$registry" >>"$HOME/.config/containers/registries.conf"
}

stop_registries() {
  local registry
  for registry in "${registries[@]}"; do kill "$registry" && wait "$registry"; done 2>/dev/null || :
}

# uploaded NAME REPOSITORY: prints the digests of the blobs that were uploaded to a repository, without those that it had
uploaded() { sed -n "s|.*\"PUT /v2/$2/blobs/uploads/[^ ]*digest=sha256%3A\([0-9a-f]\{64\}\)[^ ]* HTTP.*\" 201 .*|sha256:\1|p" "$work/$1.log"; }
