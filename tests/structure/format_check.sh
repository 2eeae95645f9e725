#!/usr/bin/env bash
# Every source file is as clang-format 14 writes it.
source "$(dirname "${BASH_SOURCE[0]}")/files.sh"

formatter=$(command -v clang-format-14 || true)
if [ -z "$formatter" ]; then
  echo "skipped: clang-format-14 is not installed (scripts/install-deps.sh tests installs it)"
  exit 77
fi
if ! tree_files '*.cpp' '*.hpp' | xargs -0 -r -n 40 -P 2 "$formatter" --dry-run --Werror --ferror-limit=1; then
  echo "to mend: scripts/format.sh"
  exit 1
fi
