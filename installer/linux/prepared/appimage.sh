#!/bin/sh
# Wraps what `build.py --target dir` made into an AppImage: DIR OUTPUT. Prepared, not run.
set -eu
program=$1
output=$2
here=$(cd "$(dirname "$0")/.." && pwd)
tree=$(mktemp -d)/Headstart.AppDir
mkdir -p "$tree/usr/lib"
cp -a "$program" "$tree/usr/lib/headstart"
cp "$here/files/headstart.desktop" "$tree/"
cp "$here/../../app/headstart/ui/resources/headstart.svg" "$tree/"
ln -s usr/lib/headstart/headstart "$tree/AppRun"
appimagetool "$tree" "$output"
