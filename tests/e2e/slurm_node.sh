#!/usr/bin/env bash
# A Slurm cluster of one node, of its own daemons, ports and keys, for tests of job arrays. Needs root.
#   tests/e2e/slurm_node.sh start DIR    then use it with SLURM_CONF=DIR/slurm.conf
#   tests/e2e/slurm_node.sh stop DIR
# Exit codes: 0 done, 77 it cannot run here (why is said), 1 it does not come up (its logs are in DIR).
set -euo pipefail

command=${1:?"start or stop?"}
folder=${2:?"which folder?"}
PATH=$PATH:/usr/sbin

cannot() {
  echo "no Slurm here: $1"
  exit 77
}

stop() {
  local name pid
  for name in slurmd slurmctld munged; do
    [ -f "$folder/$name.pid" ] || continue
    pid=$(cat "$folder/$name.pid")
    kill "$pid" 2>/dev/null || continue
    for _ in $(seq 100); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
  done
}

write_configuration() {
  local host port
  host=$(hostname -s)
  port=$((20000 + $$ % 20000))
  cat >"$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=500 State=UNKNOWN
PartitionName=debug Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
}

case $command in
  start)
    [ "$(id -u)" -eq 0 ] || cannot "it takes root"
    for program in slurmctld slurmd sbatch squeue scancel sinfo munged; do
      command -v $program >/dev/null || cannot "$program is not installed (slurmctld, slurmd, slurm-client, munge)"
    done
    mkdir -p "$folder/state" "$folder/spool"
    folder=$(cd "$folder" && pwd)
    chmod 755 "$folder"
    head -c 1024 /dev/urandom >"$folder/munge.key"
    chmod 600 "$folder/munge.key"
    munged --force --socket="$folder/munge.socket" --key-file="$folder/munge.key" --pid-file="$folder/munged.pid" \
      --log-file="$folder/munged.log" --seed-file="$folder/munged.seed" >"$folder/munged.out" 2>&1 ||
      cannot "munged does not start: $(tail -n 1 "$folder/munged.out")"
    write_configuration
    export SLURM_CONF=$folder/slurm.conf
    if ! slurmctld -c || ! slurmd -c; then cannot "its daemons do not start"; fi
    for _ in $(seq 300); do
      if [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ]; then exit 0; fi
      sleep 0.2
    done
    echo "the node is not idle after a minute: $(sinfo 2>&1)"
    stop
    exit 1
    ;;
  stop) stop ;;
  *) echo "start or stop" && exit 2 ;;
esac
