#!/bin/bash
# Waits for the ports in WAIT_PORTS (comma-separated), then executes nginx as the base does.
set -euo pipefail
IFS=', ' read -ra ports <<<"${WAIT_PORTS:-8091}"
limit=${WAIT_TIMEOUT:-300}
for port in "${ports[@]}"; do
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    if ((SECONDS >= limit)); then
      echo "port $port is not open after $limit s" >&2
      exit 1
    fi
    sleep 0.1
  done
done
exec /usr/sbin/nginx -c /opt/gem/nginx.conf -g 'daemon off;'
