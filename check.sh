#!/bin/bash
# shellcheck disable=SC2016,SC2317
# check.sh - from a fresh Debian 12 to all tests: installs missing packages,
# builds in build/, runs everything, prints a summary.
#
#   ./check.sh [--sanitize] [--quick]
#   ./check.sh --fuzz
#   ./check.sh --valgrind
#
#   --sanitize  with the address and undefined-behaviour sanitizers, in
#               build-sanitize/
#   --quick     leaves the slowest tests out (they count as skipped)
#   --fuzz      instead of the tests: every tests/fuzz/fuzz_*.c under clang's
#               libFuzzer for NF_FUZZ_SECONDS each (default 60), in build-fuzz/
#   --valgrind  instead of the tests: the unit tests, and some runs of the
#               programs, under valgrind (tests/valgrind.sh)
#
# The last line is "N passed, N failed, N skipped"; exit status 0 if and only
# if nothing failed and something passed.  What failed is shown; everything is
# in BUILD/check-logs.  Only processes started here are ever stopped.
set -u
cd "$(dirname "$(readlink -f "$0")")" || exit 1
. .ci/setup.sh

build=build lists=".ci/packages .ci/packages-check" configure_options=
fuzz=no valgrind=no
unset NF_QUICK
for option; do
    case $option in
    --sanitize)
        build=build-sanitize configure_options=--enable-sanitizers
        ;;
    --quick) export NF_QUICK=1 ;;
    --fuzz) build=build-fuzz fuzz=yes lists="$lists .ci/packages-fuzz" ;;
    --valgrind) valgrind=yes lists="$lists .ci/packages-valgrind" ;;
    *)
        echo "usage: ./check.sh [--sanitize] [--quick] | --fuzz | --valgrind" >&2
        exit 2
        ;;
    esac
done
logs=$PWD/$build/check-logs
mkdir -p "$logs" || exit 1
rm -f "$logs"/*

passed=0 failed=0 skipped=0
summary() {
    echo
    say "logs: $build/check-logs; time: $((SECONDS / 60)) min $((SECONDS % 60)) s"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
    exit
}
# What failed, with what was said about it, and how the log begins and ends: the
# first thing that goes wrong is often the cause of all others.
show() { # LOG
    awk '/^not ok /, /^ok /' "$1" | grep -v '^ok ' | head -n 60 | sed 's/^/    | /'
    awk -v ends=20 '
        NR <= ends { print "    | " $0; next }
        { last[NR % ends] = $0 }
        END {
            if (NR > 2 * ends)
                print "    : " NR - 2 * ends " lines"
            for (i = NR > 2 * ends ? NR - ends + 1 : ends + 1; i <= NR; i++)
                print "    | " last[i % ends]
        }' "$1"
}
passes() {
    passed=$((passed + 1))
    echo "PASS: $1 ($2 s)"
}
fails() {
    failed=$((failed + 1))
    echo "FAIL: $1"
}
skips() {
    skipped=$((skipped + 1))
    echo "SKIP: $1"
}

# step NAME COMMAND...: one check; COMMAND's output goes to a log.
step() {
    local name=$1 start=$SECONDS status
    shift
    "$@" > "$logs/${name// /-}.log" 2>&1 < /dev/null
    status=$?
    case $status in
    0) passes "$name" $((SECONDS - start)) ;;
    77) skips "$name: $(tail -n 1 "$logs/${name// /-}.log")" ;;
    *)  fails "$name"
        show "$logs/${name// /-}.log"
        ;;
    esac
    return $status
}
# need NAME COMMAND...: a step without which there is no point in going on.
need() { step "$@" || summary; }

# suite NAME MAKE_ARGUMENT...: tests that automake runs, counted one by one.
suite() {
    local name=$1 log=$logs/${1// /-}.log line test before=$failed total=0
    local start=$SECONDS
    shift
    say "$name"
    make -C "$build" check "$@" > "$log" 2>&1 < /dev/null
    while read -r line; do
        test=${line#*: }
        total=$((total + 1))
        case $line in
        PASS:* | XFAIL:*) passed=$((passed + 1)) ;;
        SKIP:*) skips "$test: $(why_skipped "$test")" ;;
        *)  fails "$test"
            show "$build/$test.log"
            ;;
        esac
        cp "$build/$test.log" "$logs/${test//\//-}.log" 2> /dev/null
    done < <(grep -E '^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): [^ ]+$' "$log")
    if [ $total -eq 0 ]; then
        fails "$name: no test ran"
        show "$log"
    elif [ $failed -eq $before ]; then
        echo "PASS: $name ($total tests, $((SECONDS - start)) s)"
    fi
}
why_skipped() {
    sed -n 's/^skipped: //p' "$build/$1.log" 2> /dev/null | tail -n 1
}

# Each fuzzer is a step; a crash shows the input at the end of its log.
fuzz_all() {
    local name
    need "fuzzers' packages" install_packages .ci/packages-fuzz
    tell_of_distclean
    need "autoreconf" generate_configure
    need "make the fuzzers" tests/fuzz/fuzz.sh build
    for name in $(tests/fuzz/fuzz.sh list); do
        step "$name" tests/fuzz/fuzz.sh run "$name"
    done
    summary
}

valgrind_all() {
    local name
    need "valgrind" install_packages .ci/packages-valgrind
    suite "unit tests under valgrind" -j "$(nproc)" \
        TESTS="$(tests/valgrind.sh list units | tr '\n' ' ')" \
        LOG_COMPILER="$PWD/tests/valgrind.sh run"
    for name in $(tests/valgrind.sh list runs); do
        step "$name" tests/valgrind.sh run "$name"
    done
    summary
}

say "packages"
# shellcheck disable=SC2086
ask_for_sudo $lists || {
    fails "packages"
    summary
}
need "packages" install_packages .ci/packages .ci/packages-check
[ $fuzz = no ] || fuzz_all
prepare_pvm
tell_of_distclean
need "autoreconf" generate_configure
# shellcheck disable=SC2086
need "configure" configure_in $build $configure_options
need "make" make_in $build all
need "make the tests" make_in $build check TESTS=
[ $valgrind = no ] || valgrind_all
step "install" make_in $build install && export NF_PREFIX=$PWD/$build/_inst
step "limits" sh .ci/limits.sh

# The leak check says "Unable to get registers" of a thread that is just ending
# when it looks; that is no report.
sanitizer_reports() {
    find "$logs" -name 'sanitizer.*' -exec cat {} + |
        grep -v '==[0-9]*==Unable to get registers from thread' |
        grep . && return 1
    return 0
}
if [ $build = build-sanitize ]; then
    # Also programs whose standard error nobody reads must not go unheard.
    common=log_path=$logs/sanitizer
    export ASAN_OPTIONS=$common:detect_stack_use_after_return=1
    export UBSAN_OPTIONS=$common:print_stacktrace=1:halt_on_error=1
    export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0
fi

step "matrix product on PVM" multiply_in $build
suite "tests that may run side by side" -j "$(nproc)" NF_INTEG_TESTS= NF_LAB_TESTS=
# Real processes and real time: one after the other.
suite "end-to-end tests on PVM" TESTS='$(NF_INTEG_TESTS)'
suite "tests in the lab" TESTS='$(NF_LAB_TESTS)'
if [ $build = build-sanitize ]; then
    step "no sanitizer report" sanitizer_reports
fi
summary
