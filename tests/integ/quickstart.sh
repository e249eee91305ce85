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

# a group of PVM tasks of one's own
cp "$top_srcdir/apps/quickstart/running.c" "$work/user/"
pvm_flags="$(sed -n 's/^PVM_CPPFLAGS = //p; s/^PVM_LDFLAGS = //p' \
    "$top_builddir/Makefile" | tr '\n' ' ')"
# shellcheck disable=SC2046,SC2086
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror $sanitize running.c \
    -o running $pvm_flags $(pkg-config --cflags --libs nowfarm) -lpvm3 -lm \
    -pthread -Wl,-rpath,"$libdir" > "$work/out" 2> "$work/err"
same "the group program builds without a warning" "$?" 0
cp "$top_srcdir/apps/quickstart/Makefile" "$work/user/"
mkdir made && cp ./*.c Makefile made/
check "their own Makefile builds both without a warning" \
    make -s -C made CC="${CC:-cc} $sanitize $pvm_flags" \
    CFLAGS="-Wall -Wextra -Werror" primes running
echo quit | timeout 20 pvm > "$work/console" 2>&1
check "a pvmd was started by hand" wait_until 5 eval '[ -n "$(pvmd_pids)" ]'
for ranks in 2 3 7; do
    timeout -k 5 $((60 * slow)) ./running $ranks > "$work/out" 2> "$work/err" \
        < /dev/null
    same "the group program, $ranks tasks: exit status" "$?" 0
    n=$((ranks * 1000))
    same "the group program, $ranks tasks: right" "$(cat "$work/out")" \
        "sum of the first $n squares: $((n * (n + 1) * (2 * n + 1) / 6))"
done
check "no task is left" wait_until 5 eval '[ -z "$(our_pids running)" ]'
# its broadcasts by a measured network; by a file that is none, as without
curve='{"us": 30, "us_per_byte": 0.01}'
cat > net.json << END
{"nowfarm_network": 1, "date": "$(date -u +%FT%TZ)", "medium": "switch",
 "route": "direct", "encoding": "raw",
 "collective": {"pieces": [[0, 176, 0.1]], "delta": 1, "o_s_us": 5, "t_op": []},
 "hosts": [
  {"name": "$(hostname)", "send": $curve, "recv": $curve, "hold": $curve},
  {"name": "other", "send": $curve, "recv": $curve, "hold": $curve}],
 "wires": [{"from": "$(hostname)", "to": "other", "wire": $curve},
  {"from": "other", "to": "$(hostname)", "wire": $curve}]}
END
head -c 99 net.json > cut.json
for file in net cut; do
    NOWFARM_NETWORK=$file.json timeout -k 5 $((60 * slow)) ./running 4 \
        > "$work/out" 2> "$work/err" < /dev/null
    same "the group program by $file.json: exit status" "$?" 0
    same "the group program by $file.json: right" "$(cat "$work/out")" \
        "sum of the first 4000 squares: 21341334000"
    cp "$work/err" $file.err
done
same "a model has nothing said of it" "$(wc -l < net.err)" 0
same "a file that is none has one line" "$(grep -c 'cut.json:' cut.err)" 1
# spawned from PVM's console it has a parent too
{
    echo "spawn -> $work/user/running 3"
    wait_until 20 grep -q "sum of the first" "$work/console"
    echo quit
} | timeout 40 pvm > "$work/console" 2>&1
check "the group program, from PVM's console: right" \
    grep -q "sum of the first 3000 squares: 9004500500" "$work/console"
# only some of the others can be spawned: they are ended
printf '%s\n' '#include <pvm3.h>' \
    'int fewer(char *, char **, int, char *, int, int *);' \
    'int fewer(char *f, char **a, int o, char *w, int n, int *t)' \
    '{ return pvm_spawn(f, a, o, w, n - 1, t); }' > fewer.c
# shellcheck disable=SC2046,SC2086
"${CC:-cc}" -std=c11 -c fewer.c $pvm_flags > "$work/out" 2> "$work/err" &&
    "${CC:-cc}" -std=c11 -Dpvm_spawn=fewer $sanitize running.c \
        fewer.o -o running-fewer $pvm_flags \
        $(pkg-config --cflags --libs nowfarm) -lpvm3 -lm -pthread \
        -Wl,-rpath,"$libdir" > "$work/out" 2> "$work/err"
timeout -k 5 $((60 * slow)) ./running-fewer 4 > "$work/out" 2> "$work/err" \
    < /dev/null
same "the group program without one member: exit status" "$?" 3
check "those that were spawned have ended" \
    wait_until 5 eval '[ -z "$(our_pids running-fewer)" ]'
echo halt | timeout 20 pvm > "$work/console" 2>&1
wait_until 5 no_pvmd

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
