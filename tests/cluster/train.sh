#!/usr/bin/env bash
# Trains on a cluster of network namespaces: the MPI probe's data-parallel loop of known computation on so many hosts, and
# its messages and all_reduce just before and after, since what else the machine does changes by the minute.
#   tests/cluster/train.sh BIN OUT HOSTS RATE   as: train.sh build/release/bin out 2,3 100mbit
# BIN has stepcast-probe-mpi; OUT gets training-HOSTS.json, before-HOSTS.json and after-HOSTS.json.
# Exit codes as namespaces.sh: 77 where namespaces are not permitted.
set -euo pipefail

if [ $# -ne 4 ]; then
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
fi
bin=$(readlink -f "$1") out=$(readlink -f "$2") rate=$4
IFS=, read -ra counts <<<"$3"
cluster=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/namespaces.sh

most=2
for hosts in "${counts[@]}"; do most=$((hosts > most ? hosts : most)); done
"$cluster" up "$most" "$rate"
trap '"$cluster" down' EXIT
probe() { # HOSTS FILE OPTIONS…
  local hosts=$1 file=$2
  shift 2
  "$cluster" mpirun "$hosts" 1 "$bin/stepcast-probe-mpi" "$@" --network "$rate per host" --out "$out/$file-$hosts.json"
}
messages() { # HOSTS FILE
  probe "$1" "$2" --ops ping_pong,all_reduce --place out --pairs first --sizes 8:512K*2 --samples 10 --row-seconds 0.3
}
for hosts in "${counts[@]}"; do
  messages "$hosts" before
  probe "$hosts" training --train-loop --layers 6 --layer-bytes 32K,64K,128K --bucket-bytes 32K,256K \
    --forward-us 4000 --backward-us 8000 --overlap none,thread --steps 8
  messages "$hosts" after
done
