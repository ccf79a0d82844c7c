#!/usr/bin/env bash
# Checks the model of a transition with Spin, every state of each configuration, and
# then that Spin notices when a rule of the protocol is dropped. Installs nothing.
#
#   docs/internals/model/check.sh          a minute or two, 0.3 GB of memory
#   docs/internals/model/check.sh --large  more losses, more disorder: three minutes, 0.6 GB
#
# SPIN and CC name other commands. Exit: 0 all as expected, 1 not, 2 no spin or no cc.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
spin=${SPIN:-spin} cc=${CC:-cc}
for tool in "$spin" "$cc"; do
  if ! command -v "$tool" >/dev/null; then
    echo "docs/internals/model/check.sh: '$tool' IS MISSING: THE MODEL WAS NOT CHECKED." >&2
    echo "Debian, Ubuntu: apt-get install spin gcc. Elsewhere: https://spinroot.com" >&2
    exit 2
  fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# search OPTIMISATION OPTION...: builds the model with the options and searches all of
# it, or up to the first error. Sets errors, states, depth, cause.
search() {
  local optimise=$1
  shift
  rm -rf "${work:?}/run" && mkdir "$work/run" && cd "$work/run"
  cp "$here/transition.pml" .
  if ! "$spin" -a "$@" transition.pml >spin.log 2>&1; then
    cat spin.log >&2
    exit 1
  fi
  "$cc" "$optimise" -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=4096 -o pan pan.c
  ./pan -m100000 >pan.log 2>&1 || true
  errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log)
  states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
  depth=$(sed -n 's/.*depth reached \([0-9]*\),.*/\1/p' pan.log)
  cause=$(sed -n 's/^pan:[0-9]*: //p' pan.log | head -1)
  # A search that was cut short proves nothing.
  if [[ $errors == 0 ]] && grep -qE 'max search depth too small|out of memory|Search not completed|aborted' pan.log; then
    errors="? ($(grep -oE 'max search depth too small|out of memory|Search not completed|aborted' pan.log | head -1))"
  fi
}

# holds NAME OPTION...: no assertion fails and no client is left waiting, in any state.
holds() {
  local name=$1
  shift
  search -O1 "$@"
  printf 'holds    %-58s %12s states, depth %s\n' "$name" "$states" "$depth"
  if [[ $errors != 0 ]]; then
    echo "FAILED   $name: errors $errors: $cause (options $*)"
    bad=1
  fi
}

# ends NAME OPTION...: no run is endless, so that each ends with every request
# answered (a run that stops before is an invalid end state, which holds finds).
ends() {
  local name=$1
  shift
  search -O1 "$@"
  (cd "$work/run" && "$cc" -O1 -w -DNP -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=4096 -o pan pan.c && ./pan -l -m1000000 >pan.log 2>&1) || true
  if grep -q 'errors: 0' "$work/run/pan.log" && ! grep -qE 'max search depth|out of memory|not completed' "$work/run/pan.log"; then
    printf 'ends     %s\n' "$name"
  else
    echo "FAILED   a run without end: $name (options $*)"
    bad=1
  fi
}

# breaks NAME OPTION...: Spin finds a counter-example.
breaks() {
  local name=$1
  shift
  search -O0 "$@"
  if [[ $errors == 0 || -z $errors ]]; then
    echo "FAILED   no counter-example: $name (options $*)"
    bad=1
  else
    printf 'caught   %-58s %.60s\n' "$name" "$cause"
  fi
}

# reached NAME OPTION...: the model gets there at all.
reached() {
  local name=$1
  shift
  search -O0 "$@"
  if [[ $errors == 0 || -z $errors ]]; then
    echo "FAILED   never reached: $name (options $*)"
    bad=1
  else
    printf 'reached  %s\n' "$name"
  fi
}

two=(-DEXECUTIONS=2 -DTOUCHER -DFAULTS=0 -DGAPS -DIN_ORDER)
one=(-DEXECUTIONS=1 -DCANCELLER -DTOUCHER -DSTEPS=2)

echo "# The protocol: nothing wrong in any state"
holds "two executions, an outside request, gaps" "${two[@]}"
holds "two executions, canceler, 1 loss" -DEXECUTIONS=2 -DCANCELLER -DFAULTS=1 -DIN_ORDER
holds "two executions with request ids, outside request, 1 loss" -DEXECUTIONS=2 -DKEYED -DTOUCHER -DSTEPS=2 -DFAULTS=1 -DGAPS
holds "execution, canceler, outside request, 1 loss" "${one[@]}" -DFAULTS=1
holds "execution, canceler, If-Match, 1 loss" -DEXECUTIONS=1 -DCANCELLER -DMATCHER -DSTEPS=2 -DFAULTS=1
holds "execution, canceler, 3 losses, ring of 3" -DEXECUTIONS=1 -DCANCELLER -DFAULTS=3 -DRING=3
holds "late arrivals: execution, canceler, 2 losses" -DEXECUTIONS=1 -DCANCELLER -DFAULTS=2 -DLATE
holds "late arrivals, no gaps: a refusal stays a refusal" -DEXECUTIONS=2 -DTOUCHER -DSTEPS=2 -DFAULTS=1 -DLATE -DSTRICT -DIN_ORDER
ends "execution, canceler, outside request, 1 loss" "${one[@]}" -DFAULTS=1
if [[ ${1:-} == --large ]]; then
  holds "two executions, an outside request, gaps, 1 loss" -DEXECUTIONS=2 -DTOUCHER -DFAULTS=1 -DGAPS -DIN_ORDER
  holds "two executions, an outside request, journal in any order" -DEXECUTIONS=2 -DTOUCHER -DFAULTS=0 -DGAPS
  holds "two executions, canceler, 2 losses" -DEXECUTIONS=2 -DCANCELLER -DFAULTS=2 -DIN_ORDER
  holds "execution, canceler, outside request, 2 losses" "${one[@]}" -DFAULTS=2
  holds "execution, canceler, If-Match, 2 losses" -DEXECUTIONS=1 -DCANCELLER -DMATCHER -DSTEPS=2 -DFAULTS=2
  holds "late arrivals: execution, canceler, outside request" "${one[@]}" -DFAULTS=1 -DLATE
fi

echo "# What the model reaches"
for v in 1:Applied 2:Replayed 3:Superseded 4:WrongState 5:Conflict 8:"the journal is behind"; do
  reached "${v#*:}" "${two[@]}" -DSHOW="${v%%:*}"
done
reached "Replayed, by the journal" "${two[@]}" -DSHOW_JOURNAL=2
reached "Superseded, by the journal" "${two[@]}" -DSHOW_JOURNAL=3

echo "# The protocol with one rule less: a counter-example"
breaks "the condition drops the id" "${two[@]}" -DBREAK_ID
breaks "the condition drops the state" "${two[@]}" -DBREAK_STATE
breaks "'already done' is read off the state" "${two[@]}" -DBREAK_GUESS
breaks "an id is assigned without looking for the request id" "${one[@]}" -DFAULTS=1 -DBREAK_ASSIGN
breaks "what the journal does not have yet counts as new" "${one[@]}" -DSTEPS=4 -DFAULTS=1 -DBREAK_BEHIND
breaks "any later row proves that an id was skipped" -DEXECUTIONS=2 -DCANCELLER -DFAULTS=0 -DBREAK_CHAIN

echo "# The condition looks for the request id"
holds "used request id sent again with another If-Match" -DEXECUTIONS=1 -DMATCHER -DREFRESH -DSTEPS=2 -DFAULTS=0 -DGUARD_KEY
breaks "the condition does not look for the request id" -DEXECUTIONS=1 -DMATCHER -DREFRESH -DSTEPS=2 -DFAULTS=0

echo "# Known limits (docs/internals/model/README.md): a counter-example"
breaks "id with a gap, refused, arrives late" -DEXECUTIONS=2 -DTOUCHER -DFAULTS=1 -DLATE -DSTRICT -DGAPS -DIN_ORDER

exit $bad
