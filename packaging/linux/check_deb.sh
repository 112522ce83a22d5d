#!/usr/bin/env bash
# Hold a Debian package against the rules for packages, menu entries, descriptions and manuals.
#
#   packaging/linux/check_deb.sh dist/gpuexplorer_*.deb
#
# It needs: lintian desktop-file-utils appstream man-db. Every rule that is overridden is explained
# in packaging/linux/lintian-overrides.
set -euo pipefail

package=${1:?name the package: dist/gpuexplorer_*.deb}
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
dpkg-deb --extract "$package" "$unpacked"

# With --show-overrides it would fail over what is overridden, too.
lintian --fail-on error,warning --tag-display-limit 0 "$package"
desktop-file-validate "$unpacked"/usr/share/applications/*.desktop
appstreamcli validate --no-net "$unpacked"/usr/share/metainfo/*.xml
said=$(man --warnings --encoding=UTF-8 --local-file -Tutf8 -Z "$unpacked/usr/share/man/man1/gpuexplorer.1.gz" 2>&1 > /dev/null)
[ -z "$said" ] || { printf '%s\n' "$said"; exit 1; }
echo "check_deb.sh: $package keeps the rules"
