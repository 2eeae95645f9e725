#!/usr/bin/env bash
# Installs build/release to a fresh prefix and checks that the installed program runs a shipped scenario from elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install build/release --prefix "$prefix" >"$prefix/install.log" || {
  cat "$prefix/install.log" >&2
  exit 1
}
for file in bin/stepcast bin/stepcast-worker share/stepcast/hardware-catalog share/stepcast/scenarios \
  share/doc/stepcast/LICENSE share/doc/stepcast/NOTICE; do
  [ -e "$prefix/$file" ] || { echo "check-install: $file was not installed" >&2 && exit 1; }
done

# The source tree and the build folder must not be what it runs on.
if grep -aqF "$PWD" "$prefix/bin/stepcast" "$prefix/bin/stepcast-worker"; then
  echo "check-install: a binary names the folder that it was built in" >&2
  exit 1
fi
cd "$prefix"
bin/stepcast --version
report=$(bin/stepcast run share/stepcast/scenarios/gpt3-175b-a100-1024.json)
[ -n "$report" ] || { echo "check-install: the installed program prints no report" >&2 && exit 1; }
echo "check-install: the installed program runs"
