#!/usr/bin/env bash
# Writes docs/growth.md: time and memory of whole commands against ranks, layers, micro-batches, points and events.
#   scripts/growth.sh            write the page
#   scripts/growth.sh --check    print it; exit code 1 where something grows faster than it may
# BUILD=FOLDER takes the bench of that build; without it the release build is brought up to date and taken.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "" | --check) ;;
  *)
    sed -n '2,5s/^# //p' "$0" >&2
    exit 2
    ;;
esac
if [ -z "${BUILD:-}" ]; then
  scripts/install-deps.sh long
  scripts/build.sh release --with=STEPCAST_BENCHMARKS=ON
  BUILD=build/release
fi
if [ "${1:-}" = --check ]; then exec "$BUILD/bench/growth_bench"; fi
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$BUILD/bench/growth_bench" >"$page"
cp "$page" docs/growth.md
