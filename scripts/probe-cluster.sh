#!/usr/bin/env bash
# Measures a cluster with the probes and leaves one result file for each run, for the fit.
#   in a Slurm allocation:   sbatch -N 4 --exclusive scripts/probe-cluster.sbatch [options]
#   by Open MPI's mpirun:    scripts/probe-cluster.sh --hosts a,b,c,d [options]
# Options:
#   --out DIR       results; ./stepcast-results by default
#   --bin DIR       where the probes are, on every host; build/probes/ beside this script by default
#   --per-node N    devices of a host for NCCL; those that nvidia-smi lists by default
#   --storage DIR   measures this directory's file system, too
#   --max BYTES     largest size of the collectives between processors; 16M by default
#   --dry-run       prints the commands and runs none
# Collectives are measured on 2, 4, 8 … hosts and on all: from one number alone no fit can tell a start from a hop.
# A probe whose hardware or library is absent is passed over. Exit codes: 0 done, 1 a probe failed, 2 wrong arguments,
# 3 no probe is there.
set -uo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=stepcast-results bin=$top/build/probes hosts='' per_node='' storage='' most=16M dry=no
usage() {
  sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry=yes ;;
    --out | --bin | --hosts | --per-node | --storage | --max)
      [ $# -gt 1 ] || usage
      case $1 in
        --out) out=$2 ;;
        --bin) bin=$2 ;;
        --hosts) hosts=$2 ;;
        --per-node) per_node=$2 ;;
        --storage) storage=$2 ;;
        --max) most=$2 ;;
      esac
      shift
      ;;
    *)
      echo "probe-cluster: unknown option $1" >&2
      usage
      ;;
  esac
  shift
done

if [ -n "$hosts" ]; then
  launcher=mpirun
  IFS=, read -ra names <<<"$hosts"
elif [ -n "${SLURM_JOB_ID:-}" ]; then
  launcher=srun
  mapfile -t names < <(scontrol show hostnames "$SLURM_JOB_NODELIST" 2>/dev/null)
  [ ${#names[@]} -gt 0 ] || mapfile -t names < <(seq "${SLURM_JOB_NUM_NODES:-1}")
else
  echo "probe-cluster: neither --hosts nor a Slurm allocation; to measure this host alone, pass --hosts localhost" >&2
  exit 2
fi
n=${#names[@]}
if ! [[ "${per_node:-1}" =~ ^[1-9][0-9]{0,2}$ ]]; then
  echo "probe-cluster: --per-node: \"$per_node\" is no number of devices" >&2
  exit 2
fi
[ -n "$per_node" ] || per_node=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')

# The first H hosts, P processes each.
on() {
  local h=$1 p=$2 list='' i
  shift 2
  if [ $launcher = srun ]; then
    set -- srun --mpi=pmix -N "$h" -n $((h * p)) --ntasks-per-node "$p" "$@"
  else
    for ((i = 0; i < h; i++)); do list+=${list:+,}${names[i]}:$p; done
    set -- mpirun --host "$list" -n $((h * p)) "$@"
  fi
  if [ $dry = yes ]; then echo "$*"; else "$@"; fi
}

failed=0 ran=0
probe() {
  local name=$1 h=$2 p=$3 file=$out/$4
  shift 4
  if [ $dry = no ] && [ ! -x "$bin/stepcast-probe-$name" ]; then
    echo "probe-cluster: $name is passed over: $bin/stepcast-probe-$name is not there" >&2
    return
  fi
  on "$h" "$p" "$bin/stepcast-probe-$name" "$@" --out "$file"
  local code=$?
  case $code in
    0) ran=$((ran + 1)) ;;
    3) echo "probe-cluster: $name is passed over: see above" >&2 ;;
    *)
      echo "probe-cluster: $name failed on $h hosts with exit code $code" >&2
      failed=1
      ;;
  esac
}

[ $dry = yes ] || mkdir -p "$out" || exit 2
counts=()
for ((h = 2; h < n; h *= 2)); do counts+=("$h"); done
if [ "$n" -gt 1 ]; then counts+=("$n"); fi

rendezvous=()
# mpirun tells no process where the first one is.
if [ $launcher = mpirun ]; then rendezvous=(--rendezvous "${names[0]}"); fi
probe power 1 1 power.json --states idle,busy
probe gpu 1 1 gpu.json
if [ "$per_node" -gt 1 ]; then probe nccl 1 "$per_node" nccl-1.json "${rendezvous[@]}"; fi
for h in ${counts[@]+"${counts[@]}"}; do
  if [ "$per_node" -gt 0 ]; then probe nccl "$h" "$per_node" "nccl-$h.json" "${rendezvous[@]}"; fi
  probe mpi "$h" 1 "mpi-$h.json" --max "$most"
done
if [ -n "$storage" ]; then probe storage 1 1 storage.json --dir "$storage"; fi

if [ $dry = no ] && [ $ran -eq 0 ] && [ $failed -eq 0 ]; then
  echo "probe-cluster: no probe could run" >&2
  exit 3
fi
if [ $dry = no ] && [ $ran -eq 0 ]; then
  echo "probe-cluster: every probe failed: there are no results" >&2
  exit $failed
fi
if [ $dry = no ]; then echo "probe-cluster: results are in $out; next: stepcast calibrate fit $out/*.json --node NODE -o cluster.calib.json" >&2; fi
exit $failed
