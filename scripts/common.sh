# What the commands of `./dev` share, for bash scripts: the folder of the repository, messages, help.
# shellcheck shell=bash disable=SC2034 # used by the scripts that read this file

# With CDPATH set, `cd` prints the folder's name.
unset CDPATH
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
cd -- "$root" || exit
target=${CARGO_TARGET_DIR:-$root/target}

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
else
  bold='' dim='' red='' green='' plain=''
fi

say() { printf '%s\n' "$*"; }

note() { printf '%s   %s%s\n' "$dim" "$*" "$plain"; }

# die MESSAGE [FIX...]
die() {
  printf '%sdev: %s%s\n' "$red" "$1" "$plain" >&2
  shift
  local fix
  for fix in "$@"; do printf '     %s\n' "$fix" >&2; done
  exit 1
}

# format_duration SECONDS: prints "42 s" or "3 min 4 s"
format_duration() {
  if (($1 < 60)); then printf '%d s' "$1"; else printf '%d min %d s' $(($1 / 60)) $(($1 % 60)); fi
}

# pause SECONDS: waits by reading an empty pipe. A `sleep` process would outlive a script that is killed.
pause() { read -r -t "$1" <> <(:) || :; }

# wants_help ARGUMENT...: what follows `--` belongs to another program
wants_help() {
  while (($#)) && [ "$1" != -- ]; do
    case $1 in -h | --help) return ;; esac
    shift
  done
  return 1
}

# help_if_asked ARGUMENT...: prints the lines of the script that begin with `#:`, but the first one, its summary. Then ends.
help_if_asked() {
  wants_help "$@" || return 0
  sed -n '1,/^#:/d; s/^#: \{0,1\}//p' -- "$root/scripts/${0##*/}"
  if declare -F more_help >/dev/null; then more_help; fi
  exit
}
