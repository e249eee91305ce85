#!/bin/bash
# fuzz.sh - tests/fuzz/fuzz_*.c under libFuzzer, with the address and
# undefined-behaviour sanitizers, in build-fuzz/.
#
#   tests/fuzz/fuzz.sh build       configures and builds all of them
#   tests/fuzz/fuzz.sh run NAME    runs one, as fuzz_wire, for NF_FUZZ_SECONDS
#                                  (default 60)
#   tests/fuzz/fuzz.sh list        their names
#
# It starts from good inputs (seeds, below).  What a fuzzer found interesting
# stays in build-fuzz/corpus/NAME and is where the next run starts.  An input that
# crashed, hung or leaked is shown, kept in build-fuzz/crashes, and the exit status
# is 1; 77: no clang with libFuzzer.
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
build='build-fuzz'
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0

build() {
    local flags="-g -O1 -fsanitize=fuzzer-no-link,address,undefined"
    flags="$flags -fno-sanitize-recover=undefined"
    if ! echo 'int LLVMFuzzerTestOneInput(void){return 0;}' |
        clang -x c -fsanitize=fuzzer,address - -o /dev/null 2> /dev/null; then
        echo "no clang with libFuzzer here (Debian: clang, libclang-rt-14-dev)"
        return 77
    fi
    mkdir -p $build || return
    if [ ! -f $build/Makefile ]; then
        (cd $build && ../configure --disable-shared CC=clang CXX=clang++ \
            CFLAGS="$flags" CXXFLAGS="$flags") || return
    fi
    make -C $build -j "$(nproc)" fuzzers
}

names() {
    local source
    for source in tests/fuzz/fuzz_*.c; do
        basename "$source" .c
    done
}

# The input that made a fuzzer fail, for people and to be typed in again.
show() { # FILE NAME
    echo "input that failed: $1 ($(stat -c %s "$1") bytes)"
    head -c 512 "$1" | od -A d -t x1z
    echo "as base64: $(head -c 4096 "$1" | base64 -w 0)"
    echo "again: $build/tests/fuzz/$2 $1"
}

# Good inputs to begin with, where there are some.
seeds() { # NAME
    case $1 in
    fuzz_platform) echo conf/platforms ;;
    fuzz_matrix) echo tests/golden/matrices ;;
    fuzz_prefix) echo tests/fuzz/seeds/fuzz_prefix tests/golden/matrices ;;
    *) [ ! -d "tests/fuzz/seeds/$1" ] || echo "tests/fuzz/seeds/$1" ;;
    esac
}

run() { # NAME
    local name=$1 crashes=$build/crashes status found
    local corpus=$build/corpus/$name
    local options=()
    [ -x "$build/tests/fuzz/$name" ] || {
        echo "$build/tests/fuzz/$name is not built (tests/fuzz/fuzz.sh build)"
        return 1
    }
    mkdir -p "$corpus" $crashes || return
    found=$(mktemp "$crashes/.since.XXXXXX") || return
    [ -f "tests/fuzz/$name.dict" ] && options=(-dict="tests/fuzz/$name.dict")
    # shellcheck disable=SC2046
    "$build/tests/fuzz/$name" -max_total_time="${NF_FUZZ_SECONDS:-60}" \
        -timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 \
        -artifact_prefix="$crashes/$name-" "${options[@]}" "$corpus" \
        $(seeds "$name")
    status=$?
    find $crashes -name "$name-*" -newer "$found" | while read -r file; do
        show "$file" "$name"
    done
    rm -f "$found"
    [ $status -eq 0 ] || status=1
    return $status
}

case ${1:-} in
build) build ;;
list) names ;;
run)
    [ $# -eq 2 ] || { echo "usage: tests/fuzz/fuzz.sh run NAME" >&2; exit 2; }
    run "$2"
    ;;
*)
    echo "usage: tests/fuzz/fuzz.sh build|list|run NAME" >&2
    exit 2
    ;;
esac
