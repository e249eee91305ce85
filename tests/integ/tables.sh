#!/bin/bash
# Tables of coll-bench --tune in the farm and in prefix: the master has the table,
# and all members go by it.  Trees for results that are kept.
. "${0%/*}/lib.sh"
need_pvm
cd "$work" || exit 99

rules=("bcast any 3 max bcast.pipeline.fd 7" "bcast any 4 max bcast.pipeline.fd 7"
    "reduce commutative 4 max reduce.chain.fd 3"
    "exscan ordered 3 max exscan.linear 1")
table lan 00000000 "${rules[@]}"
table odd 12345678 "${rules[@]}" "bcast any 4 8 bcast.later 1"
sed 's/max/8/' lan > damaged
{
    cat lan
    head -c 17000000 /dev/zero | tr '\0' '\n'
} > long

# ------------------------------------------------------------------- the farm
for transport in pvm local; do
    run run synth --units 300 --result 3000B --slaves 3 --gather reduce \
        --transport $transport --table lan --verify --json
    job_verified "reduce by a table, $transport"
    same "reduce by a table, $transport: its algorithm" \
        "$(json gather.algorithm)" reduce.chain.fd
    same "reduce by a table, $transport: no line" "$(err_lines)" 0
    run run synth --units 300 --result 3000B --slaves 3 --gather reduce \
        --transport $transport --verify --json
    job_verified "reduce without, $transport"
    check "reduce without, $transport: another one" \
        test "$(json gather.algorithm)" != reduce.chain.fd
done
# on one host no routes are opened for results, and so none is compared; between
# hosts see lab/gather.sh
large=(synth --units 12 --result 1MiB --slaves 3 --slots 1 --table lan --verify
    --json)
run run "${large[@]}" --gather reduce
job_verified "large reduce by a table"
same "large reduce by a table: its algorithm" "$(json gather.algorithm)" \
    reduce.chain.fd
same "large reduce by a table: no line" "$(err_lines)" 0
NOWFARM_ROUTE=daemon run run "${large[@]}" --gather reduce
job_verified "large reduce by the pvmds"
same "large reduce by the pvmds: no line" "$(err_lines)" 0
run run "${large[@]}" --gather tree
job_verified "a gather by a table"
same "a gather by a table: no line" "$(err_lines)" 0
run run "${large[@]}" --gather tree --table odd
job_verified "a gather by a table of other hosts"
check "a gather by a table of other hosts: is told" \
    err_says 'odd: tuned between other hosts.*: not the best here, perhaps'

export NOWFARM_LOG=info
run_shared run matmul --n 320 --slaves 3 --table lan --verify --json
job_verified "shared data by a table"
check "shared data by a table: its algorithm" \
    err_says 'shared data to [23] slaves by bcast.pipeline.fd'
check "shared data by a table: it goes by the route that the table is of" \
    test -z "$(grep 'not the best here' "$work/err")"
export NOWFARM_ROUTE=daemon
run_shared run matmul --n 320 --slaves 3 --table lan --verify --json
job_verified "shared data by the pvmds"
check "shared data by the pvmds: another route than the table's" \
    err_says 'lan: tuned for messages by the direct route: not the best here'
unset NOWFARM_ROUTE NOWFARM_LOG

run run synth --units 300 --result 3000B --slaves 3 --gather reduce --table odd \
    --verify --json
job_verified "a table of elsewhere"
same "a table of elsewhere: its algorithm all the same" \
    "$(json gather.algorithm)" reduce.chain.fd
check "a table of elsewhere: is told" \
    err_says 'odd: tuned between other hosts.*: not the best here, perhaps'
check "a table of elsewhere: its rule of a later version too" \
    err_says 'odd: line 14: rule ignored: algorithm "bcast.later" is not known'
same "a table of elsewhere: in two lines" "$(err_lines)" 2
# told KIND: why it is of no use
told() {
    case $1 in
    damaged) echo "damaged: .*" ;;
    missing) echo "missing: No such file or directory" ;;
    long) echo "long: 17 MiB, a group takes up to 16" ;;
    esac
}
for kind in damaged missing long; do
    run run synth --units 30 --result 3000B --slaves 3 --gather reduce \
        --table $kind --verify --json
    job_verified "$kind table"
    same "$kind table: one line" "$(err_lines)" 1
    check "$kind table: is told" \
        err_says "$(told $kind); going by the built-in model"
done
run run synth --units 30 --result 3000B --slaves 3 --gather reduce \
    --table <(cat lan) --verify --json
job_verified "a table out of a pipe"
check "a table out of a pipe: is gone by" eval '! err_says "built-in model"'

# --------------------------------------------------------------- along a tree
export NOWFARM_COLL=gather.binomial
for transport in pvm local; do
    run run matmul --n 320 --slaves 6 --transport $transport --gather tree \
        --verify --json
    job_verified "along a tree, $transport"
    same "along a tree, $transport: how" "$(json gather.algorithm)" \
        gather.binomial
    run run synth --units 50 --result 0B --slaves 5 --transport $transport \
        --gather tree --verify --json
    job_verified "along a tree, results of no bytes, $transport"
done
export NOWFARM_LOG=info
gathering() { grep -q "gather $1: from" "$work/err"; }
# a kill may come when all has been gathered: then again
for _ in 1 2 3 4 5 6; do
    start run synth --units 128 --result 1MiB --slaves 4 --slots 1 --gather tree \
        --verify --json
    check "four slaves are there" wait_until 10 some_slaves 4
    victim=$(slave_pids | tail -n 1)
    check "the gather begins" wait_until 20 gathering 1
    kill -9 "$victim" 2> /dev/null
    await 60
    job_verified "killed in mid-gather along a tree"
    [ "$(json lost_slaves)" = 0 ] || break
done
same "killed in mid-gather along a tree: lost slaves" "$(json lost_slaves)" 1
unset NOWFARM_LOG NOWFARM_COLL

# --------------------------------------------------------------------- prefix
seq 1 20000 > numbers
run prefix numbers --slaves 1 --every 100 --out want
for transport in pvm local; do
    for kind in lan odd damaged missing long; do
        run prefix numbers --slaves 3 --transport $transport --every 100 \
            --table $kind --out got --verify --json
        job_verified "prefix, $transport, $kind table"
        check "prefix, $transport, $kind table: the same rows" cmp want got
        check "prefix, $transport, $kind table: lines" \
            test "$(err_lines)" = "$(case $kind in lan) echo 0 ;; odd) echo 2 ;;
                *) echo 1 ;; esac)"
    done
done

# --------------------------------------------------------------------- tuning
run -t 120 coll-bench barrier --tune -o kept --transport local --slaves 2 \
    --repeat 10
same "tuning: exit status" "$rc" 0
hosts=$(awk '$1 == "hosts" {print $2}' kept)
table kept "$hosts" "bcast any 2 max bcast.later 1" \
    "barrier any 2 max barrier.later 1" "later any 2 max later.best model"
run -t 120 coll-bench barrier --tune -o kept --transport local --slaves 2 \
    --repeat 10
same "tuning again: exit status" "$rc" 0
check "tuning again keeps rules of later versions" \
    grep -q '^rule bcast any 2 max bcast.later 1$' kept
check "and of operations that are not known" \
    grep -q '^rule later any 2 max later.best model$' kept
check "but for what was tuned" test -z "$(grep barrier.later kept)"
check "tuning again: is told" err_says 'kept: line .*: rule ignored.*; kept$'
cp long kept
run -t 120 coll-bench barrier --tune -o kept --transport local --slaves 2 \
    --repeat 10
same "tuning over a long file: exit status" "$rc" 0
check "tuning over a long file: is told" \
    err_says "kept: 17 MiB, a group takes up to 16; written anew"

check "no slave is left" wait_until 10 no_slaves
check "no pvmd is left" wait_until 10 no_pvmd
finish
