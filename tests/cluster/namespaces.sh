#!/usr/bin/env bash
# A cluster on one machine: hosts are network namespaces, joined by veth pairs to a bridge, every port shaped in both
# directions by tc's token bucket filter, so that the bandwidth is known.
#   tests/cluster/namespaces.sh up N RATE [MTU]      N hosts node0…, as: up 4 200mbit
#   tests/cluster/namespaces.sh rate RATE [I]        shapes all ports anew, or host I's alone
#   tests/cluster/namespaces.sh exec I COMMAND…      on host I
#   tests/cluster/namespaces.sh address I            its address
#   tests/cluster/namespaces.sh mpirun H P COMMAND…  Open MPI on the first H hosts, P processes each
#   tests/cluster/namespaces.sh down
# STEPCAST_CLUSTER names the cluster, so that several can stand side by side ("stepcast" by default).
# Exit codes: 0 done, 2 wrong arguments, 3 something failed, 77 this machine does not permit it (the reason is said).
set -euo pipefail

name=${STEPCAST_CLUSTER:-stepcast}
self=$(readlink -f "${BASH_SOURCE[0]}")
# Clusters of different names have different networks: 10.77.x.0/24, though nothing is routed between them anyway.
subnet=10.77.$(($(cksum <<<"$name" | cut -d' ' -f1) % 250))

usage() {
  sed -n '4,11s/^# //p' "$self" >&2
  exit 2
}
unable() {
  echo "namespaces: skipped: $1" >&2
  exit 77
}
whole() { [[ "$1" =~ ^[0-9]{1,4}$ ]] || usage; }
rate() { [[ "$1" =~ ^[1-9][0-9]{0,5}[kmg]bit$ ]] || usage; }
inside() {
  local space=$1
  shift
  ip netns exec "$name-$space" "$@"
}
hosts() { ip netns list | sed -n "s/^$name-\([0-9]\+\)\b.*/\1/p" | sort -n; }

down() {
  local space
  for space in $(ip netns list | sed -n "s/^\($name-\([0-9]\+\|bridge\)\)\b.*/\1/p"); do
    # What still runs inside would keep the namespace alive.
    ip netns pids "$space" | xargs -r kill 2>/dev/null || true
    ip netns delete "$space"
  done
}

# Bytes per second of a rate as tc writes it.
bytes_per_second() {
  local number=${1%[kmg]bit} unit=${1#"${1%[kmg]bit}"}
  case $unit in
    kbit) echo $((number * 125)) ;;
    mbit) echo $((number * 125000)) ;;
    gbit) echo $((number * 125000000)) ;;
  esac
}

# The queue is long enough that nothing is ever dropped: TCP's own limits keep it short. What the bucket holds goes through
# unshaped, which no real link does, so it is small: two frames, and what comes up for the 100 us that a timer can be late.
shape() {
  local space=$1 device=$2 rate=$3 mtu
  mtu=$(inside "$space" cat "/sys/class/net/$device/mtu")
  inside "$space" tc qdisc replace dev "$device" root tbf rate "$rate" limit 64mb \
    burst $((2 * (mtu + 14) + $(bytes_per_second "$rate") / 10000))
}

# TCP as a cluster's hosts have it: the window stays open over pauses, and no more than two frames wait in a port's queue,
# since a queue of segments of 64 KiB, as TCP builds them, makes answers wait as long as it takes to drain.
tune() {
  inside "$1" ip link set dev port gso_max_segs 2
  inside "$1" sysctl -qw net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_limit_output_bytes=8192
  # Cubic is not offered inside namespaces everywhere; model-based congestion control measures the shaper instead of using it.
  inside "$1" sysctl -qw net.ipv4.tcp_congestion_control=reno 2>/dev/null || true
}

up() {
  local n=$1 rate=$2 mtu=${3:-1500} i
  [ "$(id -u)" -eq 0 ] || unable "network namespaces take root here"
  local tool
  for tool in ip tc unshare; do command -v $tool >/dev/null || unable "$tool is not installed (iproute2, util-linux)"; done
  down
  trap 'down' ERR
  local said
  said=$(ip netns add "$name-bridge" 2>&1) || unable "network namespaces are not permitted here: $said"
  said=$(inside bridge ip link add bridge type bridge 2>&1) || { down; unable "no bridge here: $said"; }
  inside bridge ip link set bridge mtu "$mtu" up
  for ((i = 0; i < n; i++)); do
    ip netns add "$name-$i"
    said=$(inside "$i" ip link add port type veth peer name "port$i" netns "$name-bridge" 2>&1) || {
      down
      unable "no veth pairs here: $said"
    }
    inside bridge ip link set "port$i" mtu "$mtu" master bridge up
    inside "$i" ip link set lo up
    inside "$i" ip address add "$subnet.$((i + 1))/24" dev port
    inside "$i" ip link set port mtu "$mtu" up
    tune "$i"
  done
  for ((i = 0; i < n; i++)); do
    said=$(shape_host "$i" "$rate" 2>&1) || { down; unable "tc tbf does not work here: $said"; }
  done
}
shape_host() {
  shape "$1" port "$2"
  shape bridge "port$1" "$2"
}

on_host() {
  local i=$1
  shift
  # A host name of its own, so that programs tell the hosts apart.
  # shellcheck disable=SC2016
  inside "$i" unshare --uts sh -c 'hostname "$0" && exec "$@"' "node$i" "$@"
}

# Linux schedules sessions as groups, and who yields the processor yields it inside the group alone. So all processes of a run
# are one session, and it comes before others: what waits for a core measures the machine's other work.
in_one_session() {
  # shellcheck disable=SC2016
  setsid -w sh -c 'echo -15 2>/dev/null >/proc/self/autogroup || true
    exec "$0" "$@"' "$self" exec "$@"
}

mpirun_on() {
  local h=$1 p=$2 i list=
  shift 2
  command -v mpirun >/dev/null || unable "Open MPI is not installed (openmpi-bin)"
  for ((i = 0; i < h; i++)); do list+=${list:+,}$subnet.$((i + 1)):$p; done
  # Hosts talk by TCP alone, as on a cluster; waiting processes give the processor away, as they share few cores here. Two
  # connections a pair: on one, the answer that a large message waits for queues behind data of the other direction, and an
  # exchange takes up to twice as long, or does not, by chance.
  in_one_session 0 env STEPCAST_CLUSTER="$name" mpirun --allow-run-as-root --leave-session-attached --mca plm_rsh_agent "$self agent" \
    --mca btl tcp,self --mca btl_tcp_links 2 --mca btl_tcp_if_include "$subnet.0/24" --mca oob_tcp_if_include "$subnet.0/24" \
    --mca mpi_yield_when_idle 1 --bind-to none --host "$list" -n $((h * p)) "$@"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
  up)
    [ $# -ge 2 ] || usage
    whole "$1"
    rate "$2"
    up "$@"
    ;;
  rate)
    [ $# -ge 1 ] || usage
    rate "$1"
    for i in ${2:-$(hosts)}; do shape_host "$i" "$1"; done
    ;;
  exec)
    [ $# -ge 2 ] || usage
    whole "$1"
    on_host "$@"
    ;;
  address)
    [ $# -eq 1 ] || usage
    whole "$1"
    echo "$subnet.$(($1 + 1))"
    ;;
  mpirun)
    [ $# -ge 3 ] || usage
    whole "$1"
    whole "$2"
    mpirun_on "$@"
    ;;
  agent) # what mpirun calls instead of ssh: an address and a command line
    address=$1
    shift
    on_host $((${address##*.} - 1)) sh -c "$*"
    ;;
  down) down ;;
  *) usage ;;
esac
