#!/usr/bin/env bash
# `stepcast` loads neither SimGrid nor Qt: it starts in milliseconds.
set -euo pipefail

binary=${STEPCAST_BINARY_DIR:?}/stepcast
if [ ! -x "$binary" ]; then
  echo "skipped: $binary is not built"
  exit 77
fi
libraries=$(ldd "$binary")
if grep -E 'libsimgrid|libQt|libns3|not found' <<<"$libraries"; then
  echo "stepcast must not need these; sim/worker runs the engine"
  exit 1
fi
