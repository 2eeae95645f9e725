#!/usr/bin/env bash
# Measures a cluster of network namespaces: for each rate, messages by plain sockets, and the MPI probe on so many hosts.
#   tests/cluster/measure.sh BIN OUT HOSTS [RATE…]   as: measure.sh build/release/bin out 2,3,4 100mbit 250mbit
# BIN has stepcast-probe-mpi and socket-ping-pong; OUT gets socket-RATE.json and mpi-RATE-HOSTS.json.
# Exit codes as namespaces.sh: 77 where namespaces are not permitted.
set -euo pipefail

if [ $# -lt 3 ]; then
  sed -n '2,5s/^# //p' "$0" >&2
  exit 2
fi
bin=$(readlink -f "$1") out=$(readlink -f "$2")
IFS=, read -ra counts <<<"$3"
shift 3
[ $# -gt 0 ] || set -- 100mbit 250mbit
cluster=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/namespaces.sh

most=2
for hosts in "${counts[@]}"; do most=$((hosts > most ? hosts : most)); done
"$cluster" up "$most" "$1"
trap '"$cluster" down' EXIT
for rate in "$@"; do
  "$cluster" rate "$rate"
  "$cluster" exec 1 "$bin/socket-ping-pong" serve 7000 &
  "$cluster" exec 0 "$bin/socket-ping-pong" measure "$("$cluster" address 1)" 7000 200 8 64 512 4096 65536 >"$out/socket-$rate.json"
  wait
  for hosts in "${counts[@]}"; do
    "$cluster" mpirun "$hosts" 1 "$bin/stepcast-probe-mpi" --ops ping_pong,all_reduce,all_gather,all_to_all --sizes 8:512K*4,4K --place out --row-seconds 0.2 --samples 10 \
      --pairs first --network "$rate per host" --out "$out/mpi-$rate-$hosts.json"
  done
done
