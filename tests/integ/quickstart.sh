#!/bin/bash
# The example for users, built with the installed header, library and .pc
# file alone, runs on PVM and counts right.
. "${0%/*}/lib.sh"
need_pvm
source=$top_srcdir/apps/quickstart/primes.c
[ -f "$source" ] || skip "no apps/quickstart"
at_most "lines of the example" "$(wc -l < "$source")" 79 lines

if [ -n "${NF_PREFIX:-}" ]; then # check.sh has installed it
    pc=$(find "$NF_PREFIX" -name nowfarm.pc | head -n 1)
else
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" \
        install DESTDIR="$work/root" > "$work/out" 2> "$work/err"
    same "make install" "$?" 0
    pc=$(find "$work/root" -name nowfarm.pc | head -n 1)
    export PKG_CONFIG_SYSROOT_DIR=$work/root
fi
check "nowfarm.pc is installed" test -n "$pc"
export PKG_CONFIG_PATH=${pc%/*}
libdir=$(pkg-config --variable=libdir nowfarm)
case $libdir in "${PKG_CONFIG_SYSROOT_DIR:-/}"*) ;;
*) libdir=${PKG_CONFIG_SYSROOT_DIR:-}$libdir ;; esac
sanitize=
[ $sanitized = 0 ] || sanitize=-fsanitize=address,undefined

mkdir "$work/user"
cp "$source" "$work/user/"
cd "$work/user" || exit 99
build() { # OUTPUT COMPILER FLAGS...
    local output=$1
    shift
    # shellcheck disable=SC2046,SC2086
    "$@" $sanitize primes.c -o "$output" $(pkg-config --cflags nowfarm) \
        $(pkg-config --libs nowfarm) -lm -pthread -Wl,-rpath,"$libdir" \
        > "$work/out" 2> "$work/err"
}
check "it builds without a warning" \
    build primes "${CC:-cc}" -std=c11 -Wall -Wextra -Werror
check "it is a program of its own" test -x primes

timeout -k 5 $((60 * slow)) ./primes 1000000 > "$work/out" 2> "$work/err" \
    < /dev/null
same "primes below 10^6: exit status" "$?" 0
check "primes below 10^6: 78498" grep -qw 78498 "$work/out"
check "no process is left" wait_until 5 eval '[ -z "$(our_pids primes)" ]'
check "no pvmd is left" wait_until 5 no_pvmd

unit=$(find "${NF_PREFIX:-$work/root}" -name nowfarmd.service | head -n 1)
daemon=$(sed -n 's/^ExecStart=//p' "${unit:-/dev/null}")
check "the service unit names a program that is installed" \
    test -x "${PKG_CONFIG_SYSROOT_DIR:-}${daemon%% *}"

# everything in one file, for hosts where nothing is installed
if [ $sanitized = 0 ] && [ -f "$libdir/libnowfarm.a" ]; then
    # shellcheck disable=SC2046
    "${CC:-cc}" -static primes.c -o primes-static \
        $(pkg-config --static --cflags --libs nowfarm) \
        > "$work/out" 2> "$work/err"
    same "linked statically: it builds" "$?" 0
    timeout -k 5 60 ./primes-static 1000000 > "$work/out" 2> "$work/err" \
        < /dev/null
    check "linked statically: it counts right" grep -qw 78498 "$work/out"
fi

# shellcheck disable=SC2046
"${CC:-cc}" -x c -c - -o /dev/null -std=c99 -Wall -Wextra -Wpedantic -Werror \
    $(pkg-config --cflags nowfarm) <<< '#include <nowfarm.h>'
same "the header alone, as C99" "$?" 0
# shellcheck disable=SC2046
"${CXX:-c++}" -x c++ -c - -o /dev/null -std=c++17 -Wall -Wextra -Wpedantic \
    -Werror $(pkg-config --cflags nowfarm) <<< '#include <nowfarm.h>'
same "the header alone, as C++17" "$?" 0
finish
