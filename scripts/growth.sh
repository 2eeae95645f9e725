#!/usr/bin/env bash
# Writes docs/growth.md: time and memory of whole commands against ranks, layers, micro-batches, points and events.
#   scripts/growth.sh            write the page
#   scripts/growth.sh --check    print it; exit code 1 where something grows faster than it may
# BUILD=FOLDER takes the bench of that build; without it the release build is brought up to date and taken.
. "$(dirname "${BASH_SOURCE[0]}")/benchmarks.sh" "${BASH_SOURCE[0]}" --check "$@"
if [ "${1:-}" = --check ]; then exec "$BUILD/bench/growth_bench"; fi
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$BUILD/bench/growth_bench" >"$page"
cp "$page" docs/growth.md
