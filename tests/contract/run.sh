#!/usr/bin/env bash
# Compares what the API does with what its OpenAPI document says: every check of
# Schemathesis, stateful ones too, once as everybody's and once with API keys.
# Arguments: the ratchet binary, the Schemathesis binary. CONTRACT_SECONDS bounds each
# of the two runs (default 100). CONTRACT_SEED, if it is set, makes them draw the same cases again.
set -euo pipefail
cd "$(dirname "$0")"
ratchet=$1 schemathesis=$2
seconds=${CONTRACT_SECONDS:-100}
work=$(mktemp -d)
server=
finish() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
  rm -rf "$work"
}
trap finish EXIT

# start NAME FLAGS...: serves a fresh data directory and sets $api and $engine.
start() {
  local name=$1
  shift
  RATCHET_WATCH_FOR=200ms RATCHET_API_RATE=-1 "$ratchet" serve "$@" --json --log-level error --data "$work/$name" \
    --listen 127.0.0.1:0 --api-listen 127.0.0.1:0 >"$work/$name.json" 2>"$work/$name.log" &
  server=$!
  for _ in $(seq 100); do
    [ -s "$work/$name.json" ] && break
    kill -0 "$server" 2>/dev/null || { cat "$work/$name.log" >&2; exit 1; }
    sleep 0.1
  done
  api=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["api"])' "$work/$name.json")
}

stop() {
  kill "$server" && wait "$server"
  server=
  if [ -s "$work/$1.log" ]; then
    echo "contract: the server logged errors:" >&2
    cut -c1-600 "$work/$1.log" >&2
    exit 1
  fi
}

# Schemathesis keeps notes where it runs.
cp hooks.py schemathesis.toml "$work"
cd "$work"

check() {
  "$schemathesis" --config-file schemathesis.toml run "$api/openapi.json" --url "$api" --no-color --max-time "$seconds" --max-examples 50 ${CONTRACT_SEED:+--seed "$CONTRACT_SEED"} "$@"
}

start open --dev
check
stop open

start keyed
key=$("$ratchet" --data "$work/keyed" keys create --name contract --personal --scope admin | head -1)
check --header "Authorization: Bearer $key"
stop keyed
