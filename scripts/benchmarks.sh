#!/usr/bin/env bash
# Sourced by what runs the benchmarks: goes to the repository, takes no argument or the one that is allowed, and sets
# BUILD, the build they are in: the caller's, or the release build, brought up to date.
#   . benchmarks.sh SCRIPT ALLOWED [ARGUMENT]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ -n "${3:-}" ] && [ "$3" != "$2" ]; then
  sed -n '2,/^[^#]/s/^# //p' "$1" >&2
  exit 2
fi
if [ -z "${BUILD:-}" ]; then
  scripts/install-deps.sh long
  scripts/build.sh release --with=STEPCAST_BENCHMARKS=ON
  BUILD=build/release
fi
