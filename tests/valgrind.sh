#!/bin/bash
# valgrind.sh - the unit tests, and the programs themselves from end to end, under
# valgrind: wrong accesses, bytes that nobody has set, memory lost.
#
#   tests/valgrind.sh list units   the unit tests that are built
#   tests/valgrind.sh list runs    what is run of the programs
#   tests/valgrind.sh run NAME     runs one, as tests/unit/test_wire or run-reduce
#
# In top_builddir (build), which must be built without sanitizers.  Exit status 0:
# nothing found; 77: skipped, the last line says why.  What libpvm and the like do
# is left out by valgrind.supp.  Times are those of a slow machine, so what counts
# them is left out, and time-outs are long.
set -u
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
top_builddir=${top_builddir:-$top_srcdir/build}
export top_srcdir top_builddir
export NF_VALGRIND=1 # for tests that bound their memory
seconds=${NF_VALGRIND_SECONDS:-1800}
found=33 # valgrind's exit status if it has found something

# Other programs than ours are run as they are.  SIOCOUTQNSD is no ioctl that valgrind
# knows: it would say so on standard error, where tests want nothing (lax-ioctls).
check() {
    timeout -k 5 "$seconds" valgrind -q --error-exitcode=$found \
        --leak-check=full --errors-for-leak-kinds=definite \
        --show-leak-kinds=definite \
        --suppressions="$top_srcdir/tests/valgrind.supp" --sim-hints=lax-ioctls \
        --trace-children=yes --child-silent-after-fork=yes \
        --trace-children-skip='/bin/*,/usr/*,/sbin/*,*/pvmd,*/pvmd3' "$@"
}

# ------------------------------------------------------- programs, end to end

slaves_wanted=0
# A slave that finds something cannot tell by its exit status: it leaves a file.
make_slave() {
    cat > "$work/slave" << END
#!/bin/sh
exec valgrind -q --log-file='$work/slave.%p' --leak-check=full \\
    --errors-for-leak-kinds=definite --show-leak-kinds=definite \\
    --suppressions='$top_srcdir/tests/valgrind.supp' --sim-hints=lax-ioctls \\
    '$top_builddir/slave/nowfarm-slave' "\$@"
END
    chmod +x "$work/slave"
}
no_slave_complains() {
    local file bad=0 slaves=0
    for file in "$work"/slave.*; do
        [ -e "$file" ] || continue
        slaves=$((slaves + 1))
        [ ! -s "$file" ] || bad=1
        cat "$file"
    done
    if [ $slaves -lt $slaves_wanted ]; then
        echo "only $slaves slaves were under valgrind"
        bad=1
    fi
    return $bad
}
nowfarm() { check "$top_builddir/apps/nowfarm/nowfarm" "$@" < /dev/null; }
job() { # APP ARGS...: on PVM
    slaves_wanted=2
    nowfarm run "$@" --slaves 2 --slots 1 --heartbeat-timeout 60s --verify \
        --slave-program "$work/slave"
}
run_stream() { job synth --units 40 --in 100KiB --shared 200KiB; }
run_tree() { job matmul --n 60 --gather tree; }
run_reduce() { job montecarlo --samples 20000 --chunk 1000 --gather reduce; }
run_local() {
    nowfarm run synth --units 60 --transport local --slaves 3 --gather reduce \
        --shared 200KiB --fault 7:error-once --fault-dir "$work" --verify
}
run_trace() {
    nowfarm run synth --units 20 --transport local --trace "$work/t" &&
        nowfarm gantt "$work/t" --out "$work/t.svg" &&
        nowfarm replay "$work/t" --policies 'send;gss'
}
coll_bench() {
    nowfarm coll-bench all --algorithm all --transport local --slaves 4 \
        --sizes 8B,20000B --repeat 2 &&
        nowfarm coll-bench bcast --transport local --slaves 3 --tune \
            --sizes 8B,512B --out "$work/table" &&
        nowfarm coll-bench bcast --transport local --slaves 3 \
            --table "$work/table" --sizes 8B
}
probe() {
    nowfarm probe --transport local --slaves 3 --budget 200ms --validate \
        --quiet --out "$work/model" &&
        nowfarm probe --show "$work/model" --json
}
prefix() {
    seq 1 3000 > "$work/numbers"
    nowfarm prefix "$work/numbers" --transport local --slaves 3 \
        --out "$work/rows" --verify
}
simulate() {
    nowfarm sim farm --platform "$top_srcdir/conf/platforms/four-speeds.json" \
        --policy auto
}
plans() {
    nowfarm plans > "$work/plans" && nowfarm plan scan rootp_seg_chain.fd \
        --ranks 11 --segments 5 --check > "$work/plan"
}
runs="run_stream run_tree run_reduce run_local run_trace coll_bench probe prefix"
runs="$runs simulate plans"

end_to_end() { # FUNCTION
    work=$(mktemp -d "${TMPDIR:-/tmp}/nf-valgrind.XXXXXX") || exit 99
    trap 'rm -rf "$work"' EXIT
    mkdir "$work/pvm"
    export PVM_TMP=$work/pvm
    unset PVM_VMID PVM_DPATH NOWFARM_LOG
    [ -n "${PVM_ROOT:-}" ] || export PVM_ROOT=/usr/lib/pvm3
    [ "$(id -u)" != 0 ] || export PVM_ALLOW_ROOT=1
    make_slave
    "$1" || return
    no_slave_complains
}

# ------------------------------------------------------------------ unit tests

unit_tests() {
    local source name
    for source in "$top_srcdir"/tests/unit/test_*.c; do
        name=$(basename "$source" .c)
        case $name in
        test_group_big*) ;; # 8 GiB
        *) [ ! -x "$top_builddir/tests/unit/$name" ] ||
            echo "tests/unit/$name" ;;
        esac
    done
}

case "${1:-} ${2:-}" in
"list units")
    unit_tests
    exit
    ;;
"list runs")
    tr ' _' '\n-' <<< "$runs"
    exit
    ;;
"run "?*) ;;
*)
    echo "usage: tests/valgrind.sh list units | list runs | run NAME" >&2
    exit 2
    ;;
esac
if ! command -v valgrind > /dev/null; then
    echo "skipped: no valgrind here (Debian: valgrind)"
    exit 77
fi
if grep -q '^NF_SAN_FLAGS = .*-fsanitize' "$top_builddir/Makefile"; then
    echo "skipped: built with sanitizers, which do the same"
    exit 77
fi
name=${2##*/}
case $name in
test_*)
    cd "$top_builddir" || exit 99
    check "tests/unit/$name"
    ;;
*)
    if [[ " $runs " != *" ${name//-/_} "* ]]; then
        echo "no such run: $name" >&2
        exit 2
    fi
    end_to_end "${name//-/_}"
    ;;
esac
