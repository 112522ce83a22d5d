#!/bin/sh
# Link this folder's program into a prefix, or take the links away again:
#   install.sh [--remove] [PREFIX]        PREFIX: ~/.local unless another is named
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
remove=no
if [ "${1:-}" = --remove ]; then
    remove=yes
    shift
fi
prefix=${1:-$HOME/.local}
case $prefix in
/*) ;;
*)
    echo "install.sh: '$prefix' is not a whole path such as /usr/local" >&2
    exit 2
    ;;
esac
case $prefix in
*[\"\`\$\\%]*)
    echo "install.sh: '$prefix' has a sign that menu entries cannot hold; choose another folder" >&2
    exit 2
    ;;
esac

# place WHERE TARGET: a link at PREFIX/WHERE, or that one away if it is a link into this folder.
place() {
    link=$prefix/$1
    if [ "$remove" = yes ]; then
        if [ -L "$link" ] && [ "$(readlink -- "$link")" = "$2" ]; then
            rm -f -- "$link"
        fi
    else
        mkdir -p -- "$(dirname -- "$link")"
        ln -sfn -- "$2" "$link"
    fi
}

place bin/gpuexplorer "$here/gpuexplorer"

# The menu entry is a file of its own: the session's PATH need not have the prefix's bin.
entry=io.github.gpuexplorer.GPUExplorer.desktop
menu=$prefix/share/applications/$entry
if [ "$remove" = yes ]; then
    if [ -f "$menu" ] && grep -qF "\"$prefix/bin/gpuexplorer\"" "$menu"; then
        rm -f -- "$menu"
    fi
else
    mkdir -p -- "$prefix/share/applications"
    while IFS= read -r line; do
        case $line in
        Exec=gpuexplorer*) line="Exec=\"$prefix/bin/gpuexplorer\" ${line#Exec=gpuexplorer }" ;;
        esac
        printf '%s\n' "$line"
    done < "$here/share/applications/$entry" > "$menu.new"
    mv -f -- "$menu.new" "$menu"
fi

( cd -- "$here/share" && find . -type f ! -name '*.desktop' ) | while IFS= read -r file; do
    place "share/${file#./}" "$here/share/${file#./}"
done

# The caches of menus, file types and icons, where a program that keeps them is installed.
refresh() {
    if command -v "$1" > /dev/null && [ -d "$3" ]; then
        "$@" > /dev/null 2>&1 || true
    fi
}
refresh update-desktop-database -q "$prefix/share/applications"
refresh update-mime-database -n "$prefix/share/mime"

if [ "$remove" = yes ]; then
    echo "GPU Explorer's links are gone from $prefix; this folder can be deleted now."
else
    echo "GPU Explorer is linked into $prefix; start it from the menu, or with $prefix/bin/gpuexplorer"
fi
