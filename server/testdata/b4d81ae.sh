#!/bin/bash
# Makes b4d81ae.tar.gz: a data directory written by commit b4d81ae, for TestDataOfAnEarlierVersion.
# Its `dev` is killed while executions wait. Needs the whole history, and a few minutes to build.
# One thing is changed: executions have no time-out, which is 30 days, so that the data does not age.
#
#   server/testdata/b4d81ae.sh
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
old=${OLD:-$work/ratchet} # OLD: a binary that was built before

if [ ! -x "$old" ]; then
  git -C "$here" worktree add --detach "$work/source" b4d81ae
  sed -i '/^  "TimeoutSeconds": 2592000,$/d' "$work/source/statemachine.asl.json"
  (cd "$work/source" && go build -o "$old" ./cmd/ratchet)
  git -C "$here" worktree remove --force "$work/source"
fi

cd "$work"
export RATCHET_DATA=$work/data

start() { # start FLAGS...: runs dev and waits until it serves
  "$old" dev --listen 127.0.0.1:0 "$@" >dev.log 2>&1 &
  until [ -f data/endpoint ] && "$old" orders list >/dev/null 2>&1; do kill -0 $!; done
}

state() { # state ORDER STATE: waits until the order has the state
  until "$old" orders get "$1" --json | grep -q "\"$2\""; do kill -0 $!; done
}

start --carrier-delay 1ms
"$old" orders create delivered --item mug:1:1250 --stock 10
state delivered DELIVERED
kill -INT $! && wait $! || true

start --carrier-delay 876000h
"$old" orders create paid --item mug:2:1250
state paid PAYMENT_RECEIVED
"$old" orders create held --item mug:1:1250 --no-execution
"$old" orders apply held hold --id 2
"$old" executions start held
"$old" orders create short --item mug:1000:1250
state short CANCELLED
"$old" accounts create alice
"$old" accounts create bank --overdraft
"$old" transfers create t-1 --from bank --to alice --amount 500
"$old" locks acquire lock-1 --holder clerk
"$old" orders create placed --item mug:1:1250 --no-execution
until "$old" verify | grep -q " 0 whose journal"; do kill -0 $!; done
kill -9 $!
wait $! 2>/dev/null || true

rm -f data/endpoint data/LOCK
tar -C data --sort=name --mtime=2026-11-21 --owner=0 --group=0 -czf "$here/b4d81ae.tar.gz" .
ls -l "$here/b4d81ae.tar.gz"
rm -rf "$work"
