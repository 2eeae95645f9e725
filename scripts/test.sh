#!/usr/bin/env bash
# Builds Stepcast and runs every test.
#   scripts/test.sh            the whole suite on the Release build
#   scripts/test.sh --long     then also: sanitizers, libFuzzer, coverage, clang-tidy, shellcheck, long property runs, benchmarks,
#                              installation
# Further arguments go to ctest: scripts/test.sh -R Collective
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

long=no
if [ "${1:-}" = --long ]; then
  long=yes
  shift
fi
# Three at a time on two processors: many tests wait for a timer, a window or a program of theirs.
ctest_of() {
  local preset=$1
  shift
  ctest --test-dir "build/$preset" -j3 --output-on-failure --no-tests=error "$@"
}
title() { printf '\n== %s\n' "$1"; }

if [ $long = no ]; then
  scripts/install-deps.sh tests
  scripts/build.sh release --with=STEPCAST_TESTS=ON
  ctest_of release "$@"
  exit
fi

scripts/install-deps.sh long
title "shellcheck"
git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck -x --source-path=SCRIPTDIR

title "clang-tidy"
scripts/build.sh release --with=STEPCAST_TESTS=ON --with=STEPCAST_BENCHMARKS=ON
scripts/clang-tidy.sh

title "property tests, 20 times as many cases"
RC_PARAMS="max_success=2000" ctest_of release -L property

title "benchmarks against accepted ratios"
BUILD=build/release scripts/bench.sh

title "growth with ranks, layers, micro-batches, points and events"
scripts/growth.sh --check

title "Debian packages"
scripts/check-packages.sh

title "address and undefined-behaviour sanitizers"
scripts/build.sh asan
ctest_of asan -LE structure

title "thread sanitizer"
scripts/build.sh tsan
# Not the window: Debian's Qt is not instrumented, so each of its own hand-overs between threads looks like a race.
ctest_of tsan -LE 'structure|gui' --timeout 900

title "libFuzzer, a minute a target"
scripts/fuzz.sh 60

title "coverage of models, sim and planner"
scripts/coverage.sh --least=85

title "random input into the window for half an hour, leaks looked for"
STEPCAST_MONKEY_SECONDS=1800 ctest_of release -R '^gui/monkey$'

title "the suite, on the Release build"
ctest_of release "$@"
