#!/usr/bin/env bash
# Measures a cluster of network namespaces: for each rate, messages by plain sockets and the MPI probe on 2, 3 and 4 hosts.
#   tests/cluster/measure.sh BIN OUT [RATE…]     BIN has stepcast-probe-mpi and socket-ping-pong; OUT gets
#                                                mpi-RATE-N.json and socket-RATE.json. Rates: 100mbit 250mbit
# Exit codes as namespaces.sh: 77 where namespaces are not permitted.
set -euo pipefail

if [ $# -lt 2 ]; then
  sed -n '2,5s/^# //p' "$0" >&2
  exit 2
fi
bin=$(readlink -f "$1") out=$(readlink -f "$2")
shift 2
[ $# -gt 0 ] || set -- 100mbit 250mbit
cluster=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/namespaces.sh

"$cluster" up 4 "$1"
trap '"$cluster" down' EXIT
for rate in "$@"; do
  "$cluster" rate "$rate"
  "$cluster" exec 1 "$bin/socket-ping-pong" serve 7000 &
  "$cluster" exec 0 "$bin/socket-ping-pong" measure "$("$cluster" address 1)" 7000 200 8 64 512 2048 65536 >"$out/socket-$rate.json"
  wait
  for hosts in 2 3 4; do
    "$cluster" mpirun "$hosts" 1 "$bin/stepcast-probe-mpi" --sizes 8:512K*2 --place out --row-seconds 0.25 --samples 15 \
      --pairs first --network "$rate per host" --out "$out/mpi-$rate-$hosts.json"
  done
done
