#!/bin/bash
# check-setup.sh - demo.sh and check.sh get their packages from an ordinary user
# whose sudo wants a password: it is asked for once, on the terminal.  sudo, id
# and dpkg-query are stand-ins; nothing is installed.
set -u
export LC_ALL=C
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
if ! command -v script > /dev/null; then
    echo "skipped: no script(1)"
    exit 77
fi

mkdir "$work/bin"
cat > "$work/bin/sudo" << 'END'
#!/bin/bash
# Like sudo: password from /dev/tty, remembered in $STATE/leave; -n never asks.
may() {
    [ -e "$STATE/leave" ] && return
    if [ "$ask" = no ] || ! { : < /dev/tty; } 2> /dev/null; then
        echo "sudo: a password is required" >&2
        return 1
    fi
    echo asked >> "$STATE/log"
    printf '[sudo] password: ' > /dev/tty
    read -r word < /dev/tty
    [ "$word" = secret ] && : > "$STATE/leave"
}
ask=yes
[ "$1" != -n ] || { ask=no; shift; }
may || exit 1
[ "$1" != -v ] || exit 0
case $* in *install*) echo installed >> "$STATE/log" ;; esac
END
printf '#!/bin/sh\necho 1000\n' > "$work/bin/id"
printf '#!/bin/sh\n[ -e "$STATE/all" ] && echo install ok installed\n' \
    > "$work/bin/dpkg-query"
printf '#!/bin/sh\nexit 1\n' > "$work/bin/autoreconf" # far enough
chmod +x "$work/bin"/*

bad=0
# try TEXT WANTED HOW SCRIPT [OPTION]: HOW is a password, typed on a terminal, or
# "none", no terminal.  WANTED is what sudo was asked for.  Leaves the output.
try() {
    local text=$1 want=$2 how=$3 got
    shift 3
    rm -rf "$work/top"
    mkdir "$work/top"
    cp -R "$top_srcdir/.ci" "$top_srcdir/demo.sh" "$top_srcdir/check.sh" \
        "$work/top" || exit 99
    export STATE=$work/state PATH=$work/bin:${PATH#"$work/bin:"}
    : > "$STATE/log"
    if [ "$how" = none ]; then
        timeout 60 setsid -w bash "$work/top/$1" "${@:2}" \
            > "$work/out" 2>&1 < /dev/null
    else
        echo "$how" | timeout 60 script -qec \
            "bash '$work/top/$1' ${*:2}" /dev/null > "$work/out" 2>&1
    fi
    got=$(tr '\n' ' ' < "$STATE/log")
    [ "$got" = "$want" ] && return
    echo "$text: $1: sudo was asked for '$got', want '$want'"
    sed 's/^/    | /' "$work/out"
    bad=1
}
fresh() {
    rm -rf "$work/state"
    mkdir "$work/state"
}
for script in demo.sh check.sh "check.sh --valgrind"; do
    fresh
    # shellcheck disable=SC2086
    try "a terminal" "asked installed " secret $script
    fresh
    touch "$work/state/leave"
    # shellcheck disable=SC2086
    try "sudo knows the user" "installed " none $script
    fresh
    # shellcheck disable=SC2086
    try "a wrong password" "asked " wrong $script
    fresh
    # shellcheck disable=SC2086
    try "no terminal" "" none $script
    if [ "$(grep -c '^[a-z]*\.sh: .*no terminal.*: autoconf ' "$work/out")" != 1 ]
    then
        echo "no terminal: $script does not say in a line why and what:"
        sed 's/^/    | /' "$work/out"
        bad=1
    fi
    touch "$work/state/all"
    # shellcheck disable=SC2086
    try "all is there" "" none $script
done
exit $bad
