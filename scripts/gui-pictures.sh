#!/usr/bin/env bash
# Takes the pictures of the desktop program that the documentation shows. Needs no display.
#   scripts/gui-pictures.sh [FOLDER WITH stepcast-gui]      default: build/release/bin
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=${1:-build/release/bin}/stepcast-gui

export QT_QPA_PLATFORM=offscreen LC_ALL=C.UTF-8
take() {
  "$program" --scenario "scenarios/$2.json" --tab "$3" --size "${4:-1320x820}" --screenshot "docs/images/$1.png"
}
take gui-step llama3-70b-h100-512 step
take gui-timeline llama3-70b-h100-512 timeline
take gui-servers llama3-70b-h100-512 servers
take gui-fabric llama3-70b-h100-512 fabric
