#!/bin/bash
# No pvmd possible: exit status 3 and one line, soon, and nothing left behind.
. "${0%/*}/lib.sh"
need_pvm

export PVM_TMP=$work/nosuchdir
run -t 20 run matmul --n 32 --slaves 2 --json
refused 3 "PVM_TMP does not exist"
check "PVM_TMP does not exist: the line names it" err_says 'nosuchdir|PVM_TMP'
run -t 20 hosts
refused 3 "hosts without PVM"
export PVM_TMP=$work/pvm

touch "$work/file"
PVM_TMP=$work/file run -t 30 run matmul --n 32 --slaves 2 --json
refused 3 "PVM_TMP is a file"

# pvmd would start, work in a folder of its own and never be found again
mkdir "$work/here" && cd "$work" || exit 99
PVM_TMP=here run -t 30 run matmul --n 32 --slaves 2 --json
refused 3 "PVM_TMP is relative"
check "PVM_TMP is relative: the line says what to give" err_says absolute
check "no process is left" test -z "$(our_pids nowfarm; slave_pids; pvmd_pids)"

if [ "$(id -u)" = 0 ]; then
    unset PVM_ALLOW_ROOT
    run -t 30 run matmul --n 32 --slaves 2 --json
    refused 3 "root without PVM_ALLOW_ROOT"
    check "root without PVM_ALLOW_ROOT: the line names it" \
        err_says PVM_ALLOW_ROOT
    export PVM_ALLOW_ROOT=1
fi

# threads need no PVM
PVM_TMP=$work/nosuchdir run run matmul --n 32 --slaves 2 --transport local \
    --verify --json
job_verified "local transport without PVM"
finish
