#!/usr/bin/env bash
# Installs a build to a fresh prefix, and checks that the installed program runs a shipped scenario from elsewhere and that
# another project finds and uses the installed library.
#   scripts/check-install.sh [BUILD]     default: build/release
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:-build/release}
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
quietly() {
  "$@" >"$prefix/log" 2>&1 || {
    cat "$prefix/log" >&2
    echo "check-install: this fails: $*" >&2
    exit 1
  }
}

quietly cmake --install "$build" --prefix "$prefix"
for file in bin/stepcast bin/stepcast-worker bin/stepcast-onnx-graph share/stepcast/hardware-catalog share/stepcast/scenarios \
  share/doc/stepcast/LICENSE share/doc/stepcast/NOTICE share/man/man1/stepcast.1.gz \
  share/bash-completion/completions/stepcast share/zsh/vendor-completions/_stepcast; do
  [ -e "$prefix/$file" ] || { echo "check-install: $file was not installed" >&2 && exit 1; }
done

# The source tree and the build folder must not be what it runs on. Debug information and sanitizers name them.
if grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release$' "$build/CMakeCache.txt" &&
  grep -aqF "$PWD" "$prefix"/bin/stepcast*; then
  echo "check-install: a binary names the folder that it was built in" >&2
  exit 1
fi
quietly cp -r docs/examples/library "$prefix/example"
cd "$prefix"
bin/stepcast --version
report=$(bin/stepcast run share/stepcast/scenarios/gpt3-175b-a100-1024.json)
[ -n "$report" ] || { echo "check-install: the installed program prints no report" >&2 && exit 1; }
echo "check-install: the installed program runs"

quietly cmake -S example -B example/build -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build example/build
export STEPCAST_SHARE=$prefix/share/stepcast
lines=$(example/build/forecast share/stepcast/scenarios/resnet50-v100-8gpus.json | grep -c ' nodes .* s$')
[ "$lines" -eq 3 ] || { echo "check-install: the example prints no forecast" >&2 && exit 1; }
echo "check-install: another project uses the installed library"
