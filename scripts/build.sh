#!/usr/bin/env bash
# Configures and builds a preset under build/; quick when nothing changed. Says nothing unless it fails or has work to do.
#   scripts/build.sh PRESET [--with=CMAKE_OPTION]… [TARGET…]      e.g. scripts/build.sh release stepcast
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:?"build.sh: which preset? release, debug, asan or tsan"}
shift
options=()
while [[ "${1:-}" == --with=* ]]; do
  options+=("-D${1#--with=}")
  shift
done

folder=build/$preset
log=$folder/build.log
mkdir -p "$folder"
exec 9>"$folder/.lock"
flock 9 # two runs at once: the second waits for the first

fail() {
  cat "$log" >&2
  echo "build.sh: $1 failed; the whole log is in $log" >&2
  exit 4
}

configured() {
  [ -f "$folder/build.ninja" ] || return 1
  local option
  for option in "${options[@]}"; do
    grep -q "^${option#-D}\$" <(sed 's/:[A-Z]*=/=/' "$folder/CMakeCache.txt") || return 1
  done
}
if ! configured; then
  echo "Stepcast: configuring $folder" >&2
  cmake --preset "$preset" "${options[@]}" >"$log" 2>&1 || fail configuring
fi

targets=()
[ $# -eq 0 ] || targets=(--target "$@")
if [ ! -f "$folder/.built" ]; then echo "Stepcast: building $folder, once; this takes a few minutes" >&2; fi
cmake --build "$folder" "${targets[@]}" >"$log" 2>&1 || fail building
touch "$folder/.built"
