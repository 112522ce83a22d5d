#!/usr/bin/env bash
# Try a Debian package as its users will: in a fresh Debian 12 without Python it is installed with
# apt over an older version with runs in the history, does the main job on the command line and in
# the window, tests itself, and is purged; then the system is compared with one that never had it.
# There the AppDir is tried, in a folder that its user cannot write to and whose name is not plain.
#
#   sudo packaging/linux/try_deb.sh [OPTION ...] dist/gpuexplorer_*.deb
#     -a DIR    an AppDir to try, too
#     -b TAR    a base system; made with debootstrap where there is no such file
#     -k        keep the systems; else they are deleted
#     -o DIR    where screenshots, logs and figures go (default: out/try_deb)
#     -r DIR    where the systems are unpacked (default: a new folder in TMPDIR)
#
# Here it needs: debootstrap dpkg-dev xvfb xdotool x11-utils xclip imagemagick. None of these is
# installed in the system under trial; the display is this machine's.
set -euo pipefail

appdir='' base='' keep=no out=out/try_deb roots=''
while getopts a:b:ko:r: option; do
    case $option in
    a) appdir=$(readlink -f -- "$OPTARG") ;;
    b) base=$OPTARG ;;
    k) keep=yes ;;
    o) out=$OPTARG ;;
    r) roots=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
package=$(readlink -f -- "${1:?name the package: dist/gpuexplorer_*.deb}")
[ "$(id -u)" = 0 ] || { echo "try_deb.sh: only root can unpack and enter a system" >&2; exit 2; }
mkdir -p "$out"
out=$(readlink -f -- "$out")
[ -n "$roots" ] || roots=$(mktemp -d "${TMPDIR:-/tmp}/try_deb.XXXXXX")
mkdir -p "$roots"
tried=$roots/tried reference=$roots/reference
system=$tried
export DISPLAY=:$((90 + $$ % 900))
children=()
user=ada
: > "$out/figures.txt"

cleanup() {
    for child in "${children[@]}"; do kill "$child" 2> /dev/null || true; done
    wait 2> /dev/null || true
    [ "$keep" = yes ] || rm -rf --one-file-system "$tried" "$reference"
}
trap cleanup EXIT

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
fail() {
    import -silent -window root "$out/failed.png" 2> /dev/null || true
    printf 'try_deb.sh: FAILED: %s\n' "$*" >&2
    exit 1
}
figure() { printf '%-36s %s\n' "$1" "$2" | tee -a "$out/figures.txt"; }
# logged NAME COMMAND...: run it with its words in a log, which is shown when it fails.
logged() {
    local log=$out/$1.log
    shift
    "$@" > "$log" 2>&1 || { tail -30 "$log"; fail "$*"; }
}
# wait_for SECONDS WORDS COMMAND...: until the command succeeds.
wait_for() {
    local last=$((SECONDS + $1)) words=$2
    shift 2
    until "$@" > /dev/null 2>&1; do
        [ $SECONDS -lt $last ] || fail "waited in vain: $words"
        sleep 0.1
    done
}

# within USER COMMAND...: run it in the system, which has /proc and /dev and nothing of this
# machine's environment but the way to the network and the display.
within() {
    local who=$1 home=/root
    shift
    [ "$who" = root ] || home=/home/$who
    local passed=("HOME=$home" "USER=$who" "LANG=C.UTF-8" "TERM=dumb" "DISPLAY=$DISPLAY"
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        "DEBIAN_FRONTEND=noninteractive")
    while IFS= read -r line; do passed+=("$line"); done < <(env | grep -iE '^[a-z]*_proxy=' || true)
    # Its first process is a shell, which takes in orphans and passes no signal on.
    unshare --mount --pid --fork --kill-child bash -c '
        system=$1 who=$2
        shift 2
        mount --make-rprivate /
        mount -t proc proc "$system/proc"
        mount -t sysfs -o ro sysfs "$system/sys" 2> /dev/null || true
        mount -t tmpfs -o mode=755 tmpfs "$system/dev"
        for name in null zero full random urandom tty; do
            touch "$system/dev/$name"
            mount --bind "/dev/$name" "$system/dev/$name"
        done
        mkdir "$system/dev/shm"
        mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
        ln -s /proc/self/fd "$system/dev/fd"
        for number in 0:stdin 1:stdout 2:stderr; do
            ln -s "/proc/self/fd/${number%:*}" "$system/dev/${number#*:}"
        done
        exec chroot --userspec="$who" "$system" env -i "$@"
    ' _ "$system" "$who" "${passed[@]}" sh -c 'cd; "$@"; exit $?' _ "$@" < /dev/null
}
as_user() { within "$user" "$@"; }

unpack() {
    rm -rf --one-file-system "$system"
    mkdir -p "$system"
    tar -C "$system" -xpf "$base"
    cp -L /etc/resolv.conf /etc/hosts "$system/etc/"
    logged apt-update within root apt-get update
    within root useradd --create-home "$user"
}

# --- the window, as somebody at the screen uses it ------------------------------------------------

# -noreset: else it starts anew whenever a question to it was the last connection, and drops who comes.
Xvfb "$DISPLAY" -screen 0 1280x800x24 -ac -noreset > "$out/xvfb.log" 2>&1 &
children+=($!)
wait_for 20 "a display" xdotool getdisplaygeometry

visible() { xdotool search --onlyvisible --class gpuexplorer; }
painted() { [ "$(import -silent -window root -format %k info: 2> /dev/null || echo 0)" -gt 20 ]; }
shot() { import -silent -window root "$out/$1.png"; }
# open_window COMMAND...: start it; the seconds until it is on the screen go to $mapped, and until
# a screenshot shows it painted (which itself takes a while) to $seen.
open_window() {
    local began
    began=$(date +%s%N)
    as_user "$@" > "$out/window.log" 2>&1 &
    program=$!
    children+=("$program")
    until visible > "$out/window.id" 2> /dev/null && [ -s "$out/window.id" ]; do
        kill -0 "$program" 2> /dev/null || { cat "$out/window.log"; fail "no window opened: $*"; }
        sleep 0.02
    done
    mapped=$((($(date +%s%N) - began) / 10000000))
    until painted; do sleep 0.02; done
    seen=$((($(date +%s%N) - began) / 10000000))
    window=$(head -1 "$out/window.id")
    xdotool windowmove "$window" 0 0 windowsize "$window" 1280 800 windowfocus "$window"
}
hundredths() { printf '%d.%02d s' $(($1 / 100)) $(($1 % 100)); }
close_window() {
    xdotool windowfocus "$window" key ctrl+q
    local last=$((SECONDS + 90)) asks
    while kill -0 "$program" 2> /dev/null; do
        [ $SECONDS -lt $last ] || fail "the window does not close"
        # It may ask whether the session's changes shall be saved; its default says yes.
        asks=$(xdotool search --onlyvisible --name '^Save session' 2> /dev/null | head -1 || true)
        [ -z "$asks" ] || xdotool windowfocus "$asks" key Return || true
        sleep 0.2
    done
    wait "$program" || { cat "$out/window.log"; fail "the window ended with an error"; }
}
# measures PATTERN: whether the command line that the window copies for its run fits the pattern.
measures() {
    xdotool windowfocus "$window" key ctrl+shift+c
    sleep 0.2
    timeout 2 xclip -o -selection clipboard > "$out/copied.txt" 2> /dev/null
    grep -qE -- "$1" "$out/copied.txt"
}
# turn_knob: to 1 and then to 32 threads in x, with the mouse on the slider and with keys.
turn_knob() {
    wait_for 180 "the first run in the window" measures 'run matmul .*--block'
    xdotool mousemove 120 302 click 1 key Home # on the slider of threads in x
    wait_for 90 "the knob at 1 thread in x" measures '--block 1x'
    xdotool key Right Right Right Right Right
    wait_for 90 "the knob at 32 threads in x" measures '--block 32x'
    cat "$out/copied.txt"
}
# kept PATTERN: whether the history, as a document without blanks, has what fits the pattern.
kept() { as_user gpuexplorer history --json | tr -d ' \n' > "$out/history.json" && grep -q "$1" "$out/history.json"; }

# --- the package ----------------------------------------------------------------------------------

say "A fresh Debian 12, without Python"
if [ -z "$base" ] || [ ! -f "$base" ]; then
    logged debootstrap debootstrap --variant=minbase bookworm "$tried"
    rm -f "$tried"/var/cache/apt/archives/*.deb
    [ -n "$base" ] || base=$roots/base.tar
    tar -C "$tried" -cf "$base" .
fi
unpack
! within root sh -c 'command -v python3 python' || fail "the base system has a Python"

say "An older version, with a file that newer ones no longer have, and a run in the history"
version=$(dpkg-deb --field "$package" Version)
rm -rf "$roots/older"
dpkg-deb --raw-extract "$package" "$roots/older"
sed -i 's/^Version: .*/Version: 0.0.1-1/' "$roots/older/DEBIAN/control"
echo "gone in newer versions" > "$roots/older/usr/lib/gpuexplorer/of-the-older.txt"
mkdir -p "$tried/srv/packages"
logged dpkg-deb dpkg-deb --root-owner-group -Znone --build \
    "$roots/older" "$tried/srv/packages/older.deb"
rm -rf "$roots/older"
cp "$package" "$tried/srv/packages/newer.deb"
logged apt-install within root apt-get install -y /srv/packages/older.deb
! within root sh -c 'command -v python3 python' || fail "the package brought a Python"
as_user gpuexplorer run matmul --size 128 --seconds 1 --json first.json
first=$(tr -d ' \n' < "$tried/home/$user/first.json" | grep -o '"id":"[^"]*"' | head -1 | cut -d'"' -f4)
[ -n "$first" ] || fail "the first run has no id"

say "Upgrade to $version"
logged apt-upgrade within root apt-get install -y /srv/packages/newer.deb
[ "$(within root dpkg-query -W -f '${Version}' gpuexplorer)" = "$version" ] ||
    fail "the version did not change"
[ ! -e "$tried/usr/lib/gpuexplorer/of-the-older.txt" ] || fail "a file of the older version stayed"
kept "\"$first\"" || fail "the run from before the upgrade is not in the history"
echo "the run from before, $first, is in the history"
figure "package" "$(($(stat -c %s "$package") / 1000000)) MB"
figure "installed" "$(($(dpkg-deb --field "$package" Installed-Size) * 1024 / 1000000)) MB"
figure "other packages that apt brings" "$(grep -c '^Setting up' "$out/apt-install.log")"

say "The main job on the command line"
as_user gpuexplorer --version
as_user gpuexplorer devices
as_user gpuexplorer run matmul --size 256 --block 16x16 --seconds 1 --plot run.png
as_user gpuexplorer sweep matmul --block-x '1:64:*4' --size 128 --seconds 0.2 --plot sweep.svg
as_user gpuexplorer report "$first" report.html
for name in run.png sweep.svg report.html; do
    [ -s "$tried/home/$user/$name" ] || fail "$name was not written"
    cp "$tried/home/$user/$name" "$out/"
done
logged selftest as_user gpuexplorer selftest --quick
tail -3 "$out/selftest.log"

say "The main job in the window"
open_window gpuexplorer
figure "window, first start: shown" "$(hundredths "$mapped")"
figure "window, first start: seen painted" "$(hundredths "$seen")"
xprop -id "$window" WM_CLASS
turn_knob
wait_for 90 "the window's run in the history" kept '"block_words":"32×16"[^}]*"samples":[1-9]'
shot window
xdotool key ctrl+s
wait_for 60 "a dialog for the session file" xdotool search --onlyvisible --name '^Save session'
dialog=$(xdotool search --onlyvisible --name '^Save session' | head -1)
xdotool windowfocus "$dialog" key ctrl+a type "/home/$user/bench.gpux"
xdotool key Return
wait_for 60 "the session file" test -s "$tried/home/$user/bench.gpux"
close_window
for turn in 1 2 3; do
    open_window gpuexplorer
    figure "window, warm start $turn: shown" "$(hundredths "$mapped")"
    figure "window, warm start $turn: seen painted" "$(hundredths "$seen")"
    close_window
done
open_window gpuexplorer "/home/$user/bench.gpux"
wait_for 60 "the named session in the window" xdotool search --onlyvisible --name '^bench\.gpux'
sleep 2
shot session
close_window

say "Removed without a trace"
find "$tried/tmp" "$tried/var/tmp" -mindepth 1 > "$out/temporary.txt"
[ ! -s "$out/temporary.txt" ] || { cat "$out/temporary.txt"; fail "temporary files stay behind"; }
logged apt-purge within root apt-get purge -y gpuexplorer
! grep -i warning "$out/apt-purge.log" || fail "dpkg warned when it purged the package"
rm -r "$tried/srv/packages"
left=$(find "$tried" -xdev -iname '*gpuexplorer*' -not -path "$tried/home/*")
[ -z "$left" ] || fail "left behind: $left"
[ -s "$tried/home/$user/.local/share/gpuexplorer/history.sqlite" ] || fail "the history went, too"
mapfile -t brought < <(
    sed -n 's/^Setting up \([^ :]*\).*/\1/p' "$out/apt-install.log" | grep -vx gpuexplorer
)
system=$reference
unpack
logged apt-reference within root apt-get install -y --no-install-recommends "${brought[@]}"
# What differs from one installation of the same packages to the next is not ours.
for folder in usr etc opt srv; do
    diff -rq --no-dereference "$tried/$folder" "$reference/$folder" || true
done | grep -vE '/etc: ld\.so\.cache|/etc/ld\.so\.cache|/etc/(shadow|machine-id)' > "$out/left.txt" || true
names_in() { (cd "$1" && find var root \( -path var/log -o -path var/lib/apt -o -path var/cache/apt \) -prune -o -print | sort); }
diff <(names_in "$reference") <(names_in "$tried") | grep '^>' >> "$out/left.txt" || true
[ ! -s "$out/left.txt" ] || { cat "$out/left.txt"; fail "the system is not what it was"; }
echo "nothing is left but what $user made"

# --- the AppDir -----------------------------------------------------------------------------------

if [ -n "$appdir" ]; then
    say "The AppDir, where its user cannot write"
    place="/opt/Zoë's  programs «α»"
    mkdir -p "$reference$place"
    cp -a "$appdir" "$reference$place/GPU Explorer.AppDir"
    chown -R root: "$reference$place"
    chmod -R a-w "$reference$place"
    start="$place/GPU Explorer.AppDir/AppRun"
    contents() { (cd "$reference$place" && find . -printf '%p %m %T@ %s\n' | sort | sha256sum); }
    before=$(contents)
    ! as_user touch "$place/GPU Explorer.AppDir/mark" 2> /dev/null || fail "$user can write there"
    as_user "$start" run matmul --size 256 --seconds 1 --plot run.png
    open_window "$start"
    figure "AppDir, window: shown" "$(hundredths "$mapped")"
    turn_knob
    shot appdir
    close_window
    logged selftest-appdir as_user "$start" selftest --quick
    tail -3 "$out/selftest-appdir.log"
    [ "$before" = "$(contents)" ] || fail "something was written into the AppDir"
    echo "nothing was written into it"
fi

say "Done"
cat "$out/figures.txt"
