#!/usr/bin/env bash
# No file names a path that exists on one machine only.
source "$(dirname "${BASH_SOURCE[0]}")/files.sh"

# The word boundary before the slash keeps addresses and relative paths (my/home/…) out of it.
if tree_files '*' | grep -zv '^tests/structure/paths_check\.sh$' |
  xargs -0 -r grep -nIE '(^|[^[:alnum:]_./$}-])/(work|home|Users|farm)/[[:alnum:]]|/tmp/(build|research)'; then
  echo "write such paths relative to the tree, or take them as arguments"
  exit 1
fi
