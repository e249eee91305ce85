#!/bin/bash
# Prefix statistics: the same bits for any number of members; a member that dies
# ends it with its name, and without half a file.
. "${0%/*}/lib.sh"
need_pvm
cd "$work" || exit 99

awk 'BEGIN { for (i = 1; i <= 20000; i++) printf "%.6f\n", sin(i) * 1e6 }' \
    > sin.txt
seq -9000 11000 > int.txt

# prefix TEXT FILE WANT ARGS...: ends well, verified, and the rows are WANT
prefix() {
    local text=$1 file=$2 want=$3
    shift 3
    rm -f "$want.got"
    run prefix "$file" --out "$want.got" --verify --json "$@"
    job_verified "$text"
    [ -e "$want" ] || cp "$want.got" "$want"
    check "$text: the same rows" cmp -s "$want.got" "$want"
}

prefix "one process" sin.txt sin.rows --slaves 1
same "one process: rows" "$(json rows)" 20000
same "one process: lines, with the head" "$(wc -l < sin.rows)" 20001
for slaves in 2 3 5; do
    prefix "pvm, $slaves members" sin.txt sin.rows --slaves $slaves
    prefix "local, $slaves members" sin.txt sin.rows --slaves $slaves \
        --transport local
done
prefix "default number of members" sin.txt sin.rows
same "default: members" "$(json slaves)" 2
prefix "every 777th" sin.txt every.rows --every 777 --slaves 3
same "every 777th: rows" "$(json rows)" 26
check "every 777th: they are those rows" awk '
    NR == FNR { all[$1] = $0; next }
    FNR > 1 && all[$1] != $0 { bad = 1 }
    END { exit bad || FNR != 27 }' sin.rows every.rows
for slaves in 1 4; do
    run prefix sin.txt --every 100 --slaves $slaves --out $slaves.npy --verify \
        --json
    job_verified "array, $slaves members"
done
same "array: bytes" "$(stat -c %s 4.npy)" $((128 + 200 * 48))
check "array: the same bytes" cmp -s 1.npy 4.npy
run prefix 4.npy
refused 2 "an array of six columns is no input"

prefix "integers" int.txt int.rows --type i64 --slaves 4
same "integers: count" "$(json count)" 20001
same "integers: sum" "$(json sum)" 20001000
same "integers: variance" "$(json variance | cut -c 1-10)" 33338333.5
check "integers: running sums" awk '
    FNR > 1 { n++; x = n - 9001; s += x; if ($2 != s || $5 != -9000 || $6 != x)
        bad = 1 }
    END { exit bad || n != 20001 }' int.rows

run prefix sin.txt --slaves 2
same "totals only: exit status" "$rc" 0
check "totals only: mean" grep -q '^mean  *' "$work/out"
check "totals only: nothing on stderr" test ! -s "$work/err"

# bad TEXT PATTERN ARGS...: refused by one line, and nothing is left behind
bad() {
    local text=$1 pattern=$2
    shift 2
    run -t 20 prefix "$@"
    refused 2 "$text"
    check "$text: the line says what" err_says "$pattern"
    check "$text: no file" test -z "$(find . -name '.nowfarm-*' -o -name x.rows)"
}
out="--out x.rows"
# shellcheck disable=SC2086
{
    bad "no file named" 'which file'
    bad "two files" int.txt sin.txt int.txt
    bad "missing file" 'nosuch.txt.*No such' nosuch.txt $out
    bad "directory" 'regular' pvm $out
    : > empty.txt
    bad "empty file" 'empty.txt: empty' empty.txt $out
    bad "unknown option" bogus sin.txt --bogus
    bad "every 0" every sin.txt --every 0 $out
    bad "every without out" out sin.txt --every 5
    bad "zero slaves" slaves sin.txt --slaves 0
    bad "absurd slaves" slaves sin.txt --slaves 99999999999
    bad "unknown type" f16 sin.txt --type f16
    bad "unknown transport" pigeon sin.txt --transport pigeon
    bad "time without unit" timeout sin.txt --timeout 60
    bad "output is the input" 'to be read' sin.txt --out ./sin.txt
    bad "output into no directory" nowhere sin.txt --out nowhere/x
    if [ "$(id -u)" != 0 ]; then # root may read it
        cp sin.txt secret.txt
        chmod 000 secret.txt
        bad "unreadable" 'secret.txt: Permission denied' secret.txt $out
    fi
    bad "raw of 7 bytes" '8-byte' int.txt --raw
    bad "missing hosts file" nohosts sin.txt --hosts nohosts
    bad "missing hosts file, 3 slaves" nohosts sin.txt --hosts nohosts --slaves 3
    check "so far nothing was started" test -z "$(pvmd_pids; slave_pids)"

    awk 'NR == 15000 { print "oops"; next } { print }' sin.txt > oops.txt
    for slaves in 1 2 4; do
        bad "garbage, $slaves members" 'oops.txt, line 15000: "oops"' \
            oops.txt --slaves $slaves $out
    done
    awk 'NR == 3 { print "NaN"; next } { print }' sin.txt > nan.txt
    bad "NaN" 'nan.txt, line 3: "NaN"' nan.txt --slaves 3 $out
    bad "decimals as integers" 'sin.txt, line 1: ' sin.txt --type i64 $out
    printf '\x93NUMPY\x01\x00\x46\x00%-70s12345678' \
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }" > lie.npy
    bad "lying .npy" 'says 2 numbers.*1' lie.npy $out
}
check "good files are as they were" test "$(wc -l < sin.txt)" = 20000

seq 1 6000000 > large.txt
# signalled SIGNAL member|nowfarm SECONDS [OPTION...]: in the midst of the work; which may be over
# before, where others are busy, so that it takes up to three tries
signalled() {
    local delay
    for delay in 0.2 0.1 0; do
        rm -f x.rows
        start prefix large.txt --slaves 3 --every 10 --out x.rows "${@:4}"
        check "two members were started" wait_until 10 some_slaves 2
        sleep $delay
        if [ "$2" = member ]; then
            kill "$1" "$(slave_pids | tail -n 1)"
        else
            kill "$1" "$pid"
        fi
        await "$3"
        [ "$rc" = 0 ] || break
        echo "# over before, after $delay s"
        slave_pids | xargs -r kill -9 # who was stopped is none of the next two
    done
}
signalled -KILL member 30
same "a member killed: exit status" "$rc" 1
# libpvm has a line of its own for who writes to a task that has just ended
same "a member killed: one line" \
    "$(grep -cv '^libpvm \[.*Broken pipe$' "$work/err")" 1
check "a member killed: its name" err_says 'rank [12] on [^ ]+'
check "a member killed: no file" test -z "$(find . -name '.nowfarm-*' \
    -o -name x.rows)"

cp large.txt grows.txt
for delay in 0.2 0.5 1; do # for members to have opened it
    start prefix grows.txt --slaves 3 --every 10 --out x.rows
    check "two members were started" wait_until 10 some_slaves 2
    sleep $delay
    echo 1 >> grows.txt
    await 30
    err_says 'on rank 0 it has' || break
done
same "a file that grows while it is read: exit status" "$rc" 1
check "a file that grows: its name" \
    err_says 'grows.txt was changed while it was read'
check "a file that grows: no file" test ! -e x.rows
rm grows.txt

signalled -STOP member 30 --timeout 2s
same "a member stopped: exit status" "$rc" 1
check "a member stopped: its name" err_says 'rank [12] on [^ ]+'
check "a member stopped: no file" test ! -e x.rows

signalled -INT nowfarm 10
same "interrupted: exit status" "$rc" 130
check "interrupted: no file" test -z "$(find . -name '.nowfarm-*' \
    -o -name x.rows)"

"$maxrss" "$work/rss" "$NF" prefix large.txt --slaves 2 --every 100000 \
    --transport local --out x.rows > "$work/out" 2> "$work/err"
same "46 MB of text in two passes" "$?" 0
[ $sanitized = 1 ] ||
    at_most "memory for that" "$(cut -d ' ' -f 1 "$work/rss")" 30000 KiB

# algorithms by name, in all members
export NOWFARM_COLL=exscan.linear,scan.linear,reduce.linear
prefix "by name" sin.txt named.rows --slaves 3
same "by name: the same bits" "$(cksum < named.rows)" "$(cksum < sin.rows)"
unset NOWFARM_COLL
NOWFARM_COLL=exscan.nosuch run prefix sin.txt --slaves 3
same "no such name: exit status" "$rc" 2
same "no such name: one line" "$(err_lines)" 1
check "no such name: it is told" err_says 'NOWFARM_COLL: .*exscan.nosuch'
wish=allgather.rec_doubling
NOWFARM_COLL=$wish,exscan.linear prefix "$wish" sin.txt named.rows --slaves 3
same "$wish: the same bits" "$(cksum < named.rows)" "$(cksum < sin.rows)"
same "$wish cannot serve: one line" "$(err_lines)" 1
check "$wish cannot serve: it is told" err_says "NOWFARM_COLL: $wish.* model"
NOWFARM_COLL=bcast.vdg_ring,exscan.linear prefix "bcast.vdg_ring" sin.txt named.rows \
    --slaves 3
same "bcast.vdg_ring of one element: no line" "$(err_lines)" 0
run prefix sin.txt --transport local --json
same "threads, and nobody says how many" "$(json slaves)" 2
NOWFARM_COLL_MEMORY=plenty run prefix sin.txt --slaves 3
same "no size of memory: one line" "$(err_lines)" 1
check "no size of memory: it is told" err_says 'NOWFARM_COLL_MEMORY: "plenty"'

check "no slave is left" wait_until 10 no_slaves
check "no pvmd is left" wait_until 10 no_pvmd
finish
