# Installation of Debian packages, for bash scripts.
# shellcheck shell=bash

# download_package PACKAGE: puts the file of a Debian package into the current folder. Whoever may not renew apt's lists uses those that are there.
download_package() {
  # apt's own user may not write to the folder, and apt says so.
  apt-get download "$1" >/dev/null 2>&1 && return
  apt-get update >/dev/null && apt-get download "$1" >/dev/null 2>&1 && return
  printf 'apt-get could not download %s\n' "$1" >&2
  return 69
}

# download_unstable PACKAGE: puts the file of a package of Debian's unstable distribution into the current folder. Its lists are in a folder
# of their own, so that nothing of it can be installed.
download_unstable() (
  # shellcheck disable=SC2016
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 'Component: main' | head -n 1)
  [ -n "$archive" ] || { printf 'apt-get names no archive of Debian\n' >&2 && return 69; }
  lists=$(mktemp --directory)
  trap 'rm -rf -- "$lists"' EXIT
  mkdir -p "$lists"/{state/lists/partial,cache/archives/partial,parts}
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s sid main\n' "$archive" >"$lists/sources.list"
  touch "$lists/status"
  apt=(apt-get -o "Dir::State=$lists/state" -o "Dir::State::status=$lists/status" -o "Dir::Cache=$lists/cache"
    -o "Dir::Etc::sourcelist=$lists/sources.list" -o "Dir::Etc::sourceparts=$lists/parts" -o APT::Sandbox::User=root -o Acquire::Languages=none)
  "${apt[@]}" update >/dev/null && "${apt[@]}" download "$1" >/dev/null
)

# install_packages PACKAGE...: installs Debian packages, as root. Installations that run beside each other wait for their turn.
install_packages() (
  export DEBIAN_FRONTEND=noninteractive
  # apt waits for programs that are not ours, such as unattended upgrades.
  install=(apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 "$@")
  if ! command -v apt-get >/dev/null; then
    printf 'missing: %s, and apt-get is missing too: install them with the package manager of this system\n' "$*" >&2
    return 69
  fi
  if [ "$(id -u)" != 0 ]; then
    printf 'missing: %s; as root: %s\n' "$*" "apt-get install $*" >&2
    return 69
  fi
  # An interrupted installation has to be repaired by hand.
  trap '' TERM
  exec 3>&- 4>&- 8</var/lib/dpkg
  flock 8
  # A list that is older than a day may lead to a Chromium of months ago, which the tests do not know.
  if [ -n "$(find /var/lib/apt/lists/partial -maxdepth 0 -mtime +0 2>/dev/null)" ]; then
    apt-get update >/dev/null 8<&- || printf 'apt-get could not renew its lists: see its message above\n' >&2
  fi
  # What apt starts does not keep the lock.
  if ! "${install[@]}" >/dev/null 2>&1 8<&-; then
    # The package lists are missing or out of date.
    apt-get update >/dev/null 8<&- && "${install[@]}" >/dev/null 8<&- && return
    printf 'apt-get could not install %s: see its message above\n' "$*" >&2
    return 69
  fi
)
