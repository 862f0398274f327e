#!/bin/sh
# Headstart @VERSION@ for Linux on @MACHINE@, in a file that unpacks itself. Needs sh, tail, tar, xz and sha256sum; no network.
set -eu
usage() {
    cat <<'TEXT'
usage: sh FILE [--to DIR]       install for this user (default: ~/.local/opt/headstart), with menu entry and command
       sh FILE --extract DIR    only unpack
       sh FILE --check          only compare with its checksum
       sh DIR/uninstall.sh      remove it again; chats, models and settings stay
TEXT
}
payload() { tail -n +@LINES@ "$0"; }
check() {
    if [ "$(payload | sha256sum | cut -d' ' -f1)" != "@SUM@" ]; then
        echo "headstart: this file is damaged; fetch it again." >&2
        exit 1
    fi
}
unpack() {
    check
    mkdir -p "$1"
    payload | tar -xJf - -C "$1"
}
action=install
place=$HOME/.local/opt/headstart
case ${1-} in
    "") ;;
    --to) place=${2:?a folder is wanted} ;;
    --extract) action=extract; place=${2:?a folder is wanted} ;;
    --check) check; echo "whole"; exit 0 ;;
    *) usage; [ "$1" = --help ]; exit ;;
esac
case $place in /*) ;; *) place=$PWD/$place ;; esac
if [ "$action" = extract ]; then
    unpack "$place"
    exit 0
fi
if [ -e "$place" ] && [ ! -x "$place/headstart" ]; then
    echo "headstart: $place exists and is not Headstart; choose another folder with --to." >&2
    exit 1
fi
mkdir -p "$(dirname "$place")"
rm -rf "$place.new" "$place.old"
unpack "$place.new"
if [ -e "$place" ]; then mv "$place" "$place.old"; fi
mv "$place.new" "$place"
rm -rf "$place.old"
sh "$place/uninstall.sh" --links
echo "Headstart @VERSION@ is installed in $place; start it with: headstart (in ~/.local/bin)"
exit 0
