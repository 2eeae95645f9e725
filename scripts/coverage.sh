#!/usr/bin/env bash
# Prints the share of lines of models/, sim/ and planner/ that the tests run, folder by folder and whole.
#   scripts/coverage.sh                 build with gcov, run the tests (those of unit, property, sim, golden, e2e), print
#   scripts/coverage.sh --least=85      exit code 1, too, where one of the three has less than 85 %
#   scripts/coverage.sh --files         a line for each file as well, least covered first
# BUILD=FOLDER takes that build, whose tests have run, as it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

least=0
files=no
for word in "$@"; do
  case "$word" in
    --least=*) least=${word#--least=} ;;
    --files) files=yes ;;
    *)
      sed -n '2,7s/^# //p' "$0" >&2
      exit 2
      ;;
  esac
done

if [ -z "${BUILD:-}" ]; then
  BUILD=build/coverage
  scripts/build.sh coverage
  find $BUILD -name '*.gcda' -delete
  # Counting makes programs up to ten times as slow: a test that then takes too long has run its lines all the same.
  ctest --test-dir $BUILD -j2 -L 'unit|property|sim|golden|e2e' -E 'installation|documentation' --output-on-failure ||
    echo "coverage.sh: not all tests passed" >&2
fi
python3 - "$BUILD" "$least" "$files" <<'PYTHON'
import json, pathlib, subprocess, sys

build, least, files = pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2]), sys.argv[3] == "yes"
top = pathlib.Path.cwd()
layers = ("models", "sim", "planner")
# A header is compiled many times: a line counts as run when any of its copies is.
ran = {}
data = sorted(build.rglob("*.gcda"))
if not data:
    sys.exit("coverage.sh: no test of " + str(build) + " has run")
for first in range(0, len(data), 50):
    out = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, data[first:first + 50])], cwd=build,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    for text in out.splitlines():
        if not text.startswith(b"{"):
            continue
        for file in json.loads(text)["files"]:
            path = (build / file["file"]).resolve()
            if not path.is_relative_to(top):
                continue
            path = path.relative_to(top)
            if path.parts[0] not in layers:
                continue
            lines = ran.setdefault(str(path), {})
            for line in file["lines"]:
                number = line["line_number"]
                lines[number] = lines.get(number, False) or line["count"] > 0


def share(paths):
    covered = sum(sum(ran[path].values()) for path in paths)
    lines = sum(len(ran[path]) for path in paths)
    return covered, lines, 100 * covered / max(1, lines)


folders = {}
for path in ran:
    folders.setdefault("/".join(path.split("/")[:-1][:2]), []).append(path)
print("| folder | lines | run | share |")
print("|---|--:|--:|--:|")
short = []
for folder in sorted(folders):
    covered, lines, percent = share(folders[folder])
    print(f"| {folder} | {lines} | {covered} | {percent:.1f} % |")
for layer in layers:
    covered, lines, percent = share([path for path in ran if path.startswith(layer + "/")])
    print(f"| **{layer}** | {lines} | {covered} | {percent:.1f} % |")
    if percent < least:
        short.append(f"{layer}: {percent:.1f} % of lines are run, {least:g} % wanted")
if files:
    print()
    for path in sorted(ran, key=lambda path: share([path])[2]):
        covered, lines, percent = share([path])
        print(f"{percent:5.1f} % {lines - covered:4d} lines not run  {path}")
sys.exit("\n".join("coverage.sh: " + line for line in short) or 0)
PYTHON
