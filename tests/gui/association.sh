#!/usr/bin/env bash
# Installs what a desktop reads of the program, and asks the desktop's own tools what opens a scenario.
#   tests/gui/association.sh BUILD_FOLDER
# Exit code 77: a tool is missing.
set -euo pipefail
build=${1:?build folder}
for tool in desktop-file-validate update-desktop-database update-mime-database xdg-mime; do
  if ! command -v "$tool" >/dev/null; then
    echo "association: $tool is missing (scripts/install-deps.sh tests)" >&2
    exit 77
  fi
done
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cmake --install "$build" --component gui --prefix "$root" >/dev/null
desktop-file-validate "$root/share/applications/stepcast-gui.desktop"
update-desktop-database -q "$root/share/applications"
XDG_DATA_DIRS=$root/share update-mime-database "$root/share/mime"
export HOME=$root XDG_DATA_HOME=$root/share XDG_DATA_DIRS=$root/share:/usr/share XDG_CONFIG_HOME=$root XDG_CURRENT_DESKTOP=
type=application/x-stepcast-scenario+json
grep -q "^60:$type:\*.stepcast.json$" "$root/share/mime/globs2"
opens=$(xdg-mime query default "$type")
[ "$opens" = stepcast-gui.desktop ] || { echo "association: $type is opened by \"$opens\"" >&2; exit 1; }
grep -q '^Exec=stepcast-gui %f$' "$root/share/applications/$opens"
[ -x "$root/bin/stepcast-gui" ]
echo "association: a *.stepcast.json is $type, opened by $opens"
