#!/usr/bin/env bash
# Installs the Debian packages that Stepcast needs and this system lacks. Quick when nothing is missing.
#   scripts/install-deps.sh            to build and run it
#   scripts/install-deps.sh gui        to build and run the desktop program, too
#   scripts/install-deps.sh tests      to run scripts/test.sh, too
#   scripts/install-deps.sh long       to run scripts/test.sh --long, too
# Exit codes: 0 nothing is missing (any more), 2 wrong argument, 3 a package cannot be installed (which one is said).
set -euo pipefail

packages=(cmake g++ libboost-dev libceres-dev libcli11-dev libfmt-dev libonnx-dev libprotobuf-dev libpugixml-dev
  libsimgrid-dev libsqlitecpp-dev ninja-build nlohmann-json3-dev protobuf-compiler zlib1g-dev)
gui=(fonts-dejavu-core libqt6opengl6-dev qt6-base-dev qt6-charts-dev)
tests=("${gui[@]}" chromium clang-format-14 desktop-file-utils fio groff-base iproute2 jq libgmock-dev libgtest-dev libopenmpi-dev
  librapidcheck-dev munge openmpi-bin patch python3 slurm-client slurmctld slurmd xdg-utils xdotool xvfb zsh)
long=(clang-14 clang-tidy-14 libbenchmark-dev libclang-rt-14-dev mmdebstrap shellcheck)
case "${1:-build}" in
  build) ;;
  gui) packages+=("${gui[@]}") ;;
  tests) packages+=("${tests[@]}") ;;
  long) packages+=("${tests[@]}" "${long[@]}") ;;
  *)
    sed -n '2,7s/^# //p' "$0" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps: this is not Debian; install what corresponds to: ${packages[*]}" >&2
  exit 3
fi

missing() {
  # dpkg-query fails when it does not know a package, and prints the others all the same.
  local present
  present=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
  local package
  for package in "${packages[@]}"; do
    grep -qx "installed $package" <<<"$present" || echo "$package"
  done
}

mapfile -t wanted < <(missing)
[ ${#wanted[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-deps: missing: ${wanted[*]}; installing them takes root or sudo" >&2
    exit 3
  fi
  root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >>"$log" 2>&1; }

# A package whose candidate apt does not know means that the lists are old or absent.
unknown() { apt-cache policy "${wanted[@]}" 2>/dev/null | grep -c 'Candidate: [^(]' | grep -qvx "${#wanted[@]}"; }

echo "install-deps: installing ${wanted[*]}" >&2
if unknown; then apt update || true; fi
if ! apt install -y --no-install-recommends "${wanted[@]}"; then
  # The lists may name versions that the mirror has replaced.
  apt update || true
  apt install -y --no-install-recommends "${wanted[@]}" || true
fi

mapfile -t wanted < <(missing)
if [ ${#wanted[@]} -gt 0 ]; then
  grep -E '^(E|W|Err):' "$log" >&2 || tail -n 20 "$log" >&2
  echo "install-deps: cannot install: ${wanted[*]}" >&2
  echo "install-deps: is this Debian 12 with its package sources reachable?" >&2
  exit 3
fi
