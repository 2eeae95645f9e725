#!/usr/bin/env bash
# Runs the benchmarks that are counted in a reference computation, and compares them with the accepted ratios.
#   scripts/bench.sh             compare with tests/bench/accepted.json; exit code 1 on a regression
#   scripts/bench.sh --update    accept what this machine shows
# BUILD=FOLDER takes the benchmarks of that build; without it the release build is brought up to date and taken.
. "$(dirname "${BASH_SOURCE[0]}")/benchmarks.sh" "${BASH_SOURCE[0]}" --update "$@"

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
timings=()
for program in estimate_bench plan_bench step_bench; do
  # Searches with several threads differ by how many cores are free.
  "$BUILD/bench/$program" --benchmark_filter='-/real_time$' --benchmark_repetitions=3 --benchmark_min_time=0.2 \
    --benchmark_out="$results/$program.json" --benchmark_out_format=json >"$results/$program.log" 2>&1
  timings+=(--timings "$results/$program.json")
done
if [ "${1:-}" = --update ]; then set -- --update --reference reference; fi
"$BUILD/bin/stepcast" check --baseline tests/bench/accepted.json "${timings[@]}" "$@"
