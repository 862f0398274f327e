#!/bin/sh
# Builds the .deb and the .run file from a clean clone, and installs what Debian lacks for that. Runs as root.
#
# release.sh OUTPUT            build once
# release.sh --twice OUTPUT    build again in another folder, with other downloads, and compare all bytes
# release.sh --try OUTPUT      then install the .deb in bare Debians, and the .run file here, and use them
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
usage() { sed -n '2,6s/^# *//p' "$0"; }
mode=once
case ${1-} in
    -h | --help) usage; exit ;;
    --twice | --try) mode=${1#--}; shift ;;
    -*) usage >&2; exit 2 ;;
esac
[ $# = 1 ] || { usage >&2; exit 2; }
mkdir -p "$1"
output=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

need() { # packages that are not installed yet
    missing=$(for name; do dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q "^install ok" || echo "$name"; done)
    # shellcheck disable=SC2086 # one word for each package
    [ -z "$missing" ] || { apt-get update -q && apt-get install -y -q --no-install-recommends $missing; }
}
build() { # FOLDER OUTPUT: the last commit of this repository
    git clone --quiet --no-hardlinks "$root" "$work/$1/source"
    python3 "$work/$1/source/installer/build.py" --target linux --work "$work/$1/work" --output "$2"
    rm -rf "${work:?}/$1"
}

need git python3 python3-venv
need "libpython$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')" binutils dpkg-dev gzip libdbus-1-3 libegl1 libfontconfig1 libgl1 libglib2.0-0 libxcb-cursor0 libxcb-icccm4 \
    libwayland-cursor0 libwayland-egl1 libxcb-keysyms1 libxkbcommon0 libxkbcommon-x11-0
build first "$output"
if [ "$mode" = twice ]; then
    build second "$work/again"
    (cd "$work/again" && sha256sum --check --ignore-missing "$output/SHA256SUMS")
    echo "Both builds have the same bytes."
fi
if [ "$mode" = try ]; then
    need iproute2 mmdebstrap openbox util-linux weston xdotool xvfb
    python3 -m venv "$work/tests"
    "$work/tests/bin/pip" install --quiet -e "$root[export,test]"
    cd "$root"
    HEADSTART_TEST_DEB=$(ls "$output"/headstart_*.deb) HEADSTART_TEST_RUN=$(ls "$output"/headstart-*.run) \
        HEADSTART_TEST_PICTURES=$output/pictures "$work/tests/bin/python" -m pytest -m installer \
        tests/installer/test_deb.py tests/installer/test_tarball.py
fi
