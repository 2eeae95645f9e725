#!/usr/bin/env bash
# Every script parses, is executable, and passes shellcheck where that is installed.
source "$(dirname "${BASH_SOURCE[0]}")/files.sh"

failed=0
while IFS= read -r -d '' script; do
  bash -n "$script" || failed=1
  case $script in
    scripts/*.sh | .ci/run)
      if [ ! -x "$script" ]; then
        echo "$script: not executable"
        failed=1
      fi
      ;;
  esac
  if command -v shellcheck >/dev/null; then shellcheck -x --source-path=SCRIPTDIR "$script" || failed=1; fi
done < <(tree_files '*.sh' '.ci/run')
exit $failed
