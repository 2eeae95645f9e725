#!/usr/bin/env bash
# Runs the fuzz targets with libFuzzer and the address and undefined-behaviour sanitizers, one after another.
#   scripts/fuzz.sh SECONDS [TARGET…]    so many seconds a target, all targets by default
# Inputs that reach new code are kept in build/fuzz/corpus/TARGET and taken up by the next run. An input that is not answered
# properly is kept in build/fuzz/found, beside what the sanitizer says of it.
# Exit codes: 0 nothing found, 1 something found, 2 wrong argument.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
}
[[ "${1:-}" =~ ^[0-9]+$ ]] || usage
seconds=$1
shift

scripts/build.sh fuzz command_fuzz stepcast-worker
program=build/fuzz/tests/command_fuzz
mkdir -p build/fuzz/found
found=0
one() {
  local target=$1 corpus=build/fuzz/corpus/$1 out=build/fuzz/found/$1
  shift
  mkdir -p "$corpus"
  # Several seeds of one name would hide each other.
  local seed
  for seed in "$@"; do cp "$seed" "$corpus/seed-$(md5sum <"$seed" | cut -c1-12)"; done
  # No answer may take longer than 20 s: "an error in under a second" on a busy machine, ten times slower by sanitizers.
  if STEPCAST_FUZZ=$target STEPCAST_SHARE=$PWD STEPCAST_WORKER=$PWD/build/fuzz/bin/stepcast-worker \
    ASAN_OPTIONS=log_path=$out-report "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
    -max_len=65536 -artifact_prefix="$out-" -print_final_stats=1 "$corpus" >"$out.log" 2>&1; then
    awk -v target="$target" '/stat::number_of_executed_units/ { runs = $2 } / cov: / { line = $0 } END {
      match(line, /cov: [0-9]+/); printf "%s: %d inputs, %s\n", target, runs, substr(line, RSTART, RLENGTH) }' "$out.log"
  else
    echo "$target: something found; build/fuzz/found has the input and the report" >&2
    tail -n 5 "$out.log" >&2
    found=1
  fi
}

wanted=("$@")
while read -r target seeds; do
  if [ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" $target "* ]]; then continue; fi
  # shellcheck disable=SC2086 # paths of seeds, without blanks
  one "$target" $seeds
done < <("$program" --seeds)
exit $found
