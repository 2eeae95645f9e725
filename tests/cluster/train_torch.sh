#!/usr/bin/env bash
# Trains with PyTorch over gloo on a cluster of network namespaces, traced: train_torch.py on so many hosts, one rank each.
#   tests/cluster/train_torch.sh OUT HOSTS RATE   as: train_torch.sh out 2,3,4 100mbit
# OUT/HOSTS gets rank0.json …, sums.json and steps.json.
# Exit codes as namespaces.sh: 77 where namespaces are not permitted, or PyTorch is not installed.
set -euo pipefail

if [ $# -ne 3 ]; then
  sed -n '2,5s/^# //p' "$0" >&2
  exit 2
fi
out=$(readlink -f "$1") rate=$3
IFS=, read -ra counts <<<"$2"
folder=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cluster=$folder/namespaces.sh

# Debian's package is of Debian's own Python, which need not be the first in the path.
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import torch, sys; sys.exit(not torch.distributed.is_gloo_available())' 2>/dev/null; then
    python=$(command -v "$candidate")
    break
  fi
done
if [ -z "$python" ]; then
  echo "train_torch: skipped: PyTorch with gloo is not installed (python3-torch)" >&2
  exit 77
fi

most=2
for hosts in "${counts[@]}"; do most=$((hosts > most ? hosts : most)); done
"$cluster" up "$most" "$rate"
trap '"$cluster" down' EXIT
port=29500
for hosts in "${counts[@]}"; do
  mkdir -p "$out/$hosts"
  port=$((port + 1))
  "$cluster" mpirun "$hosts" 1 env GLOO_SOCKET_IFNAME=port timeout 150 "$python" "$folder/train_torch.py" \
    "$out/$hosts" "$("$cluster" address 0)" "$port"
done
