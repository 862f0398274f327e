#!/bin/sh
# Removes this copy of Headstart. With --links it makes the menu entry, the icons, the file type and the command instead.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
share=${XDG_DATA_HOME:-$HOME/.local/share}
bin=$HOME/.local/bin
refresh() {
    update-desktop-database -q "$share/applications" 2>/dev/null || true
    update-mime-database "$share/mime" 2>/dev/null || true
}
if [ "${1-}" = --links ]; then
    (cd "$here/share" && find . -type f) | while read -r file; do
        mkdir -p "$share/$(dirname "$file")"
        cp "$here/share/$file" "$share/$file"
    done
    # A desktop may not look into ~/.local/bin.
    sed -i "s|^Exec=headstart |Exec=\"$here/headstart\" |" "$share/applications/headstart.desktop"
    mkdir -p "$bin"
    ln -sf "$here/headstart" "$bin/headstart"
    refresh
    exit 0
fi
(cd "$here/share" && find . -type f) | while read -r file; do rm -f "$share/$file"; done
if [ "$(readlink "$bin/headstart" 2>/dev/null)" = "$here/headstart" ]; then rm -f "$bin/headstart"; fi
refresh
rm -rf "$here"
echo "Headstart is removed. Chats, models and settings stay in $share/headstart, ${XDG_CONFIG_HOME:-$HOME/.config}/headstart"
echo "and ${XDG_CACHE_HOME:-$HOME/.cache}/headstart; delete these folders to be rid of them."
