# What ./dev up, status, logs and attack share, for bash scripts that have read scripts/common.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # used by the scripts that read this file

# Process, start time, port, kind (`serve` or `aio`) and state folder of the running `up`. A test sets another folder, so that it
# does not see one that somebody uses.
running=${DEV_UP_STATE:-${root:?}/.dev}/up

. tests/dev/packages.sh

# --- the running server ----------------------------------------------------------

# need_running COMMAND
need_running() {
  find_running || die "nothing runs here" "./dev up"
  [ -r "$state/log" ] || die "the server of process $owner belongs to root" "sudo ./dev $1"
}

# began PROCESS: prints the start time, which together with the id identifies a process
began() {
  local stat
  read -r stat <"/proc/$1/stat" || return
  # The name in parentheses may contain any character.
  read -r -a stat <<<"${stat##*) }"
  printf '%s' "${stat[19]}"
} 2>/dev/null

# find_running: sets `owner`, `port`, `kind` and `state` if `up` runs in this checkout
find_running() {
  local start
  state=''
  [ -r "$running" ] && read -r owner start port kind state <"$running" || return 1
  [ "$(began "$owner")" = "$start" ] && [ -d "$state" ]
}

# need_port PORT: fails unless `up` can use the port
need_port() {
  if [[ ! $1 =~ ^[1-9][0-9]{0,4}$ ]] || (($1 > 65535)); then
    die "\`$1\` is not a port" "For example: ./dev up --port 8080"
  fi
}

# need_none_running PORT: fails if `up` runs in this checkout, or something listens on the port
need_none_running() {
  local port kind state owner
  if find_running; then die "it is already running on port $port (process $owner)" "Run ./dev status, or end it with Ctrl-C there."; fi
  if answers "$1"; then die "something already listens on 127.0.0.1:$1" "Choose another port: ./dev up --port $(free $(($1 + 1)))"; fi
}

# mark_running PORT KIND FOLDER: lets the other commands find this process
mark_running() {
  mkdir -p -- "${running%/*}"
  (umask 077 && printf '%s %s %s\n' "$$ $(began "$$")" "$1 $2" "$3" >"$running")
}

# answers PORT: succeeds if a server accepts connections
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free PORT: prints the first free port, starting at PORT
free() {
  local port=$1
  while answers "$port"; do port=$((port + 1)); done
  printf '%d' "$port"
}

# --- requests -------------------------------------------------------------------

# ask SECONDS ARGUMENT...: runs curl with the credentials of this run, which are not visible in the process list
ask() {
  local limit=$1
  shift
  if [ -s "${state:?}/authorization" ]; then set -- --header "@$state/authorization" "$@"; fi
  curl --silent --noproxy '*' --max-time "$limit" "$@"
}

tool_answers() {
  ask 10 "http://127.0.0.1:${port:?}/mcp" --header 'Content-Type: application/json' \
    --header 'Accept: application/json, text/event-stream' \
    --data '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | grep --quiet '"name": \?"browser-shell"'
}

screen_answers() {
  local page=/vnc/index.html ticket
  if [ -s "$state/authorization" ]; then
    ticket=$(ask 5 --request POST "http://127.0.0.1:$port/tickets" | sed -nE 's/.*"ticket": ?"([^"]+)".*/\1/p')
    [ -n "$ticket" ] || return
    page+="?ticket=$ticket"
  fi
  # A browser requests the page without the Authorization header.
  [ "$(curl --silent --noproxy '*' --max-time 5 --output /dev/null --write-out '%{http_code}' "http://127.0.0.1:$port$page")" = 200 ]
}

# --- the start -------------------------------------------------------------------

# start_program_build: builds the program beside what is done next, unless `program` names one. Sets `program`, `build` and
# `build_log`.
start_program_build() {
  build='' build_log=''
  if [ -n "${program:-}" ]; then
    [ -x "$program" ] || die "there is no program \`$program\`"
    return
  fi
  command -v cargo >/dev/null || die "\`cargo\` is missing" "Install Rust 1.95 or newer with rustup, then open a new shell."
  command -v cc >/dev/null || need_packages gcc libc6-dev
  # A debug build, because a release build takes minutes.
  program=${CARGO_TARGET_DIR:-$root/target}/debug/browser-shell
  build_log=$(mktemp)
  start_build "$build_log"
  trap 'kill "$build" 2>/dev/null || :; rm -f -- "$build_log"' EXIT
}

# finish_program_build: waits for the build
finish_program_build() {
  if [ -n "$build" ]; then
    wait_for_build "$build_log" || die "the build failed; the compiler's messages are above"
    rm -f -- "$build_log"
    trap - EXIT
  fi
  note "$program"
}

# need_packages PACKAGE...: installs Debian packages, as root
need_packages() {
  note "installing $*"
  install_packages "$@" || die "packages are missing"
}

# encode: base64url without padding
encode() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# make_credentials: creates a key pair and one token for this run, then deletes the private key. Sets `public_key` and `token`.
make_credentials() {
  local now head body
  (umask 077 && : >"$state/authorization" && : >"$state/key.pem")
  openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$state/key.pem" 2>/dev/null ||
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$state/key.pem" 2>/dev/null
  public_key=$(openssl pkey -in "$state/key.pem" -pubout | base64 --wrap 0)
  now=$(date +%s)
  head=$(printf '{"alg":"RS256","typ":"JWT"}' | encode)
  body=$(printf '{"sub":"dev","iat":%d,"exp":%d}' "$now" $((now + 12 * 3600)) | encode)
  token=$head.$body.$(printf '%s.%s' "$head" "$body" | openssl dgst -sha256 -sign "$state/key.pem" -binary | encode)
  rm -f -- "$state/key.pem"
  printf 'Authorization: Bearer %s\n' "$token" >"$state/authorization"
}

# separate_network PORT...: sets `network` to the command before one that runs in a network of its own, which has access to the
# internet but not to this machine's loopback; its PORTs are reachable at 127.0.0.1 of this machine. Sets `nameserver` to the name
# server in it, if that is not this machine's.
separate_network() {
  local port
  network=(pasta --foreground --quiet --netns-only --runas 0:0 --config-net --no-map-gw)
  for port; do network+=(--tcp-ports "127.0.0.1/$port"); done
  network+=(--tcp-ns none --udp-ports none --udp-ns none)
  # The network cannot reach a name server on this machine's loopback (systemd-resolved). pasta forwards queries to it from an
  # unused address.
  nameserver=''
  if grep --quiet --extended-regexp '^nameserver[[:space:]]+(127\.|::1)' /etc/resolv.conf; then
    nameserver=198.51.100.53
    network+=(--dns-forward "$nameserver")
  fi
  network+=(--)
}

# print_ready PAGE: prints how to connect
print_ready() {
  local url=http://127.0.0.1:$port headers='' shell=browser-shell authorized=''
  if [ -n "${token:-}" ]; then
    headers=", \"headers\": {\"Authorization\": \"Bearer $token\"}"
    authorized="  export BROWSER_SHELL_TOKEN='$token'"$'\n'
  fi
  # The program that was just built, if no installed one is on the path.
  command -v browser-shell >/dev/null || shell=$program
  cat <<TEXT

${green}Ready.$plain Connect an MCP client over HTTP: ${bold}$url/mcp$plain
  {"mcpServers": {"browser-shell": {"type": "http", "url": "$url/mcp"$headers}}}

TEXT
  if [ -z "${screen:-}" ]; then
    say "There is no screen."
  elif [ -n "${token:-}" ]; then
    cat <<TEXT
Watch the screen with a ticket, which is valid for 30 s:
  T=\$(curl -s -X POST -H 'Authorization: Bearer $token' \\
    $url/tickets | sed -E 's/.*"ticket": ?"([^"]+)".*/\\1/')
  echo "$url/vnc/?ticket=\$T"

The token is valid for this run, for at most 12 h.
TEXT
  else
    cat <<TEXT
Watch the screen: ${bold}$url/vnc/$plain
Every user of this machine can use both. To require a token: ./dev up --jwt
TEXT
  fi
  cat <<TEXT

Make calls from a shell:
$authorized  $shell call --server $url/mcp -- open $1
  $shell call --server $url/mcp -- snapshot -i

In another terminal: ./dev status, ./dev logs [--follow] [NAME], ./dev attack
${bold}Ctrl-C stops everything.$plain
TEXT
}
