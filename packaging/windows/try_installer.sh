#!/usr/bin/env bash
# Try two versions of the installer for Windows under Wine, in a prefix that is thrown away:
#   try_installer.sh OLD-setup.exe NEW-setup.exe
# Installs, upgrades and removes them silently, for the user and for all, and looks at files, registry
# and PATH after each step. Needs wine with its 32-bit part (apt: wine, and wine32 of i386).
set -euo pipefail
old=$(realpath "$1") new=$(realpath "$2")

export WINEDEBUG=-all WINEDLLOVERRIDES="winemenubuilder.exe=d"
WINEPREFIX=$(mktemp -d)
export WINEPREFIX
trap 'wineserver -k || true; rm -rf "$WINEPREFIX"' EXIT
cd "$WINEPREFIX"

key='Software\Microsoft\Windows\CurrentVersion\Uninstall\GPUExplorer'
machine='HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
programs="drive_c/users/$(id -un)/AppData/Local/Programs/GPU Explorer"
menu="drive_c/users/$(id -un)/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/GPU Explorer.lnk"

# Run a setup or a remover silently and wait for it; it must end with a code.
ends_with() {
  local expected=$1 code=0
  shift
  wine "$@" || code=$?
  wineserver -w
  [ "$code" = "$expected" ] || { echo "ended with $code, not $expected: $*"; exit 1; }
}
# A remover goes on in a copy of itself, and takes itself away last.
removes() {
  ends_with 0 "$1/uninstall.exe" /S
  for _ in $(seq 120); do
    [ -e "$1/uninstall.exe" ] || break
    sleep 0.5
  done
  [ ! -e "$1/uninstall.exe" ] || { echo "$1 is not removed"; exit 1; }
  wineserver -w
}
value() { wine reg query "$1" /v "$2" /reg:64 2> /dev/null | tr -d '\r' | sed -n "s/^ *$2 *REG_[A-Z_]* *//Ip"; }
is() { [ "$1" = "$2" ] || { echo "it is '$(tail -c 200 <<< "$1")', not '$(tail -c 200 <<< "$2")'"; exit 1; }; }
traces() {
  local root
  for root in HKCU 'HKLM\Software'; do
    wine reg export "$root" out.reg /y /reg:64 > /dev/null 2>&1
    iconv -f utf-16 -t utf-8 out.reg | grep -i 'gpux\|gpuexplorer\|gpu explorer' || true
  done
}

echo "setting up Windows"
wineboot --init > /dev/null 2>&1
wine winecfg -v win10
wineserver -w
before=$(value "$machine" PATH)
# Longer than the strings of an installer, and of the type that names other variables.
long=$(for n in $(seq 120); do printf 'C:\\a folder\\number %s;%%USERNAME%%;' "$n"; done)
wine reg add 'HKCU\Environment' /v Path /t REG_EXPAND_SZ /d "${long%;}" /f > /dev/null
wineserver -w

echo "installing for the user"
ends_with 0 "$old" /S /CurrentUser /PATH
[ -f "$menu" ] && [ -f "$programs/bin/gpuexplorer.cmd" ]
is "$(value 'HKCU\Environment' Path)" "${long%;};$(value "HKCU\\$key" InstallLocation)\\bin"

echo "upgrading; what else is in the folder stays"
mkdir -p "$programs/_internal/mine"
echo mine > "$programs/_internal/mine/notes.txt"
first=$(value "HKCU\\$key" DisplayVersion)
ends_with 0 "$new" /S
[ "$(value "HKCU\\$key" DisplayVersion)" != "$first" ]
is "$(value 'HKCU\Environment' Path)" "${long%;};$(value "HKCU\\$key" InstallLocation)\\bin"

echo "removing"
removes "$programs"
is "$(find "$programs" -type f)" "$programs/_internal/mine/notes.txt"
is "$(value 'HKCU\Environment' Path)" "${long%;}"
is "$(traces)" ""
[ ! -e "$menu" ]

echo "another program's folder and one that is too deep are refused"
ends_with 183 "$new" /S /CurrentUser
rm -r "$programs"
ends_with 206 "$new" /S /CurrentUser "/D=C:\\$(printf 'a%.0s' $(seq 240))"

echo "a type that is somebody else's stays theirs"
wine reg add 'HKCU\Software\Classes\.gpux' /ve /d Other.Program /f > /dev/null
ends_with 0 "$new" /S /CurrentUser
wine reg query 'HKCU\Software\Classes\.gpux' /ve | grep -q Other.Program

echo "installing for all users beside it, in a folder of one's choice"
ends_with 0 "$new" /S /AllUsers /PATH /D=C:\\All users
is "$(value "HKLM\\$key" InstallLocation)" 'C:\All users'
is "$(value "$machine" PATH)" "$before;C:\\All users\\bin"
ends_with 183 "$new" /S /CurrentUser /D=C:\\All users
removes "drive_c/All users"
[ ! -e "drive_c/All users" ]
is "$(value "$machine" PATH)" "$before"
[ -f "$programs/gpuexplorer.exe" ]
removes "$programs"
wine reg delete 'HKCU\Software\Classes\.gpux' /f > /dev/null
is "$(traces)" ""
[ ! -e "$programs" ]
echo "all as it should be"
