#!/bin/bash
# The stand-in's entrypoint: the steps of the closed base image between its start and supervisord, as far as known.
#
# It renders templates, runs hooks and selects services. It follows the public descriptions of the base and contains none of
# its code. Where these say nothing, it makes the choice that is worse for our files, so that they are tested against it.
set -euo pipefail
gem=/opt/gem

log() { printf 'run.sh: %s\n' "$*"; }

# run_hook NAME: runs the command line in this variable. A failed hook ends the startup only with RUN_HOOKS_STRICT=true.
run_hook() {
  local command=${!1:-}
  [ -n "${command//[[:space:]]/}" ] || return 0
  log "hook $1"
  if ! bash -c "$command"; then
    [ "${RUN_HOOKS_STRICT:-false}" != true ] || exit 1
    log "hook $1 failed; continuing, because RUN_HOOKS_STRICT is not true"
  fi
}

# render TARGET SOURCE VARIABLE...: substitutes only these variables and keeps every other `$`
render() {
  local target=$1 source=$2
  shift 2
  # shellcheck disable=SC2016
  envsubst "$(printf '${%s} ' "$@")" <"$source" >"$target.new"
  mv -- "$target.new" "$target"
}

# --- switches: DISABLE_X=true sets AUTOSTART_X=false, which supervisord's program files use

autostart() {
  local switch=DISABLE_$1 value=true
  if [ "${!switch:-false}" = true ]; then value=false; fi
  export "AUTOSTART_$1=$value"
}
for service in JUPYTER CODE_SERVER MCP_BROWSER NODEJS_REPL BROWSER VNC; do autostart "$service"; done
# The base's generation: `hub` has an MCP hub on port 8079.
AUTOSTART_MCP_HUB=false
if [ "${STAND_IN_GENERATION:-direct}" = hub ]; then AUTOSTART_MCP_HUB=true; fi
export AUTOSTART_MCP_HUB

run_hook RUN_HOOK_INIT

# --- the user, created at the first start; like the real one it can become root
getent group gem >/dev/null || groupadd --non-unique --gid "$USER_GID" gem
getent passwd gem >/dev/null || useradd --non-unique --uid "$USER_UID" --gid gem --create-home --shell /bin/bash gem
mkdir -p /etc/sudoers.d
printf 'gem ALL=(ALL) NOPASSWD:ALL\n' >/etc/sudoers.d/gem
chmod 0440 /etc/sudoers.d/gem

# --- folders
mkdir -p "$LOG_DIR" "$WORKSPACE" /tmp/.X11-unix /run/supervisor /var/lib/nginx
chmod 1777 "$LOG_DIR" /tmp/.X11-unix
chmod 0700 /run/supervisor
rm -f -- /tmp/.X99-lock /tmp/.X11-unix/X99
# The trap log of all services.
touch "$TRAP_LOG"
chown gem:gem "$TRAP_LOG"

# --- templates
export PUBLIC_LISTEN_IPV4=${PUBLIC_LISTEN_IPV4:-0.0.0.0} PUBLIC_LISTEN_IPV6=${PUBLIC_LISTEN_IPV6:-[::]}
export RUNTIME_LISTEN=''
credentials=${JWT_PUBLIC_KEY:-}${SANDBOX_API_KEY:-}
with_auth=(PUBLIC_PORT AUTH_BACKEND_PORT SANDBOX_SRV_PORT PUBLIC_LISTEN_IPV4 PUBLIC_LISTEN_IPV6 RUNTIME_LISTEN)
without_auth=(PUBLIC_PORT PUBLIC_LISTEN_IPV4 PUBLIC_LISTEN_IPV6 RUNTIME_LISTEN)
if [ "${STAND_IN_GENERATION:-direct}" = hub ]; then
  with_auth=(PUBLIC_PORT AUTH_BACKEND_PORT GEM_SERVER_PORT) without_auth=(PUBLIC_PORT)
fi
if [ -n "${credentials//[[:space:]]/}" ]; then
  log "with auth"
  render $gem/nginx-server-active.conf $gem/nginx-server-with-auth.conf "${with_auth[@]}"
else
  log "WITHOUT auth: everyone who can reach port $PUBLIC_PORT has access"
  render $gem/nginx-server-active.conf $gem/nginx-server-without-auth.conf "${without_auth[@]}"
fi
# The base's routes, none of which our nginx.conf includes.
render $gem/nginx/legacy.conf $gem/nginx.legacy.conf BROWSER_REMOTE_DEBUGGING_PORT
render $gem/nginx/vnc.conf $gem/nginx.vnc.conf WEBSOCKET_PROXY_PORT
for source in "$gem"/nginx/nginx.*.conf; do
  name=${source##*/nginx.}
  render "$gem/nginx/$name" "$source" SANDBOX_SRV_PORT CODE_SERVER_PORT JUPYTER_LAB_PORT BROWSER_REMOTE_DEBUGGING_PORT
done
# Bases have used two paths for the hub's template. Only the older generation serves the hub.
template=$gem/mcp-hub.json.template
if [ "${STAND_IN_GENERATION:-direct}" = hub ]; then template=$gem/templates/mcp-hub.json.template; fi
if [ -e $gem/nginx/nginx.mcp_hub.conf ] && [ -e $template ]; then
  if [ -n "${EXTRA_MCP_SERVERS//[[:space:]]/}" ]; then
    /usr/bin/python3 - $template <<'PYTHON'
import json, os, pathlib, sys
template = pathlib.Path(sys.argv[1])
hub = json.loads(template.read_text())
hub["mcpServers"].update(json.loads(os.environ["EXTRA_MCP_SERVERS"]))
template.write_text(json.dumps(hub))
PYTHON
  fi
  render $gem/mcp-hub.json $template SANDBOX_SRV_PORT MCP_SERVER_BROWSER_PORT BROWSER_REMOTE_DEBUGGING_PORT
  rm -- $template
fi
render $gem/nginx-server-port-proxy.conf $gem/nginx-server-port-proxy.conf.template PUBLIC_PORT PUBLIC_LISTEN_IPV4 PUBLIC_LISTEN_IPV6
touch $gem/nginx-proxy-map.conf

run_hook RUN_HOOK_PRE_SERVICES
if [ -n "${RUN_HOOK_POST_READY:-}" ]; then
  (
    until (exec 3<>"/dev/tcp/127.0.0.1/$SANDBOX_SRV_PORT") 2>/dev/null; do sleep 0.2; done
    run_hook RUN_HOOK_POST_READY
  ) &
fi

log "supervisord"
exec /usr/bin/supervisord -n -c $gem/supervisord.conf
