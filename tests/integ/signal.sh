#!/bin/bash
# SIGINT and SIGTERM: slaves and PVM tasks are gone within 5 s, exit status
# 130, no file half written; also when a slave does not listen any more.
. "${0%/*}/lib.sh"
need_pvm
mkdir "$work/results"

# interrupted SIGNAL TEXT: SIGNAL to the running job, and what must follow
interrupted() {
    local sent
    sent=$(now_ms)
    kill "-$1" "$pid"
    await 15
    at_most "$2: nowfarm is gone" $(($(now_ms) - sent)) $((5000 * slow)) ms
    same "$2: exit status" "$rc" 130
    check "$2: slaves are gone within 5 s" wait_until \
        $((5 - ($(now_ms) - sent) / 1000)) no_slaves
    check "$2: nothing or JSON on stdout" eval 'out_empty || only_json'
    check "$2: no file" test -z "$(ls -A "$work/results")"
}

for signal in INT TERM; do
    start run synth --units 1000 --cost 50ms --slaves 3 --json \
        --out "$work/results/r.bin"
    check "SIG$signal: slaves are there" wait_until 10 some_slaves 3
    sleep 0.3
    interrupted $signal "SIG$signal"
    check "SIG$signal: no pvmd is left" wait_until 5 no_pvmd
done

start run synth --units 1000 --cost 50ms --slaves 3 --json \
    --out "$work/results/r.bin"
check "with a stopped slave: slaves are there" wait_until 10 some_slaves 3
sleep 0.3
kill -STOP "$(slave_pids | head -n 1)"
sleep 0.3
interrupted INT "with a stopped slave"

start run synth --units 20 --cost 1h --slaves 2 --json \
    --out "$work/results/r.bin"
check "in a long unit: slaves are there" wait_until 10 some_slaves 2
sleep 0.3
interrupted TERM "in a long unit"

# someone else's virtual machine stays, and is clean
echo quit | timeout 20 pvm > /dev/null 2>&1
start run synth --units 1000 --cost 50ms --spin --slaves 3 --json \
    --out "$work/results/r.bin"
check "in another's PVM: slaves are there" wait_until 10 some_slaves 3
sleep 0.3
interrupted INT "in another's PVM"
check "in another's PVM: it still runs" test -n "$(pvmd_pids)"
same "in another's PVM: it has no tasks left" "$(printf 'ps -a\nquit\n' |
    timeout 20 pvm 2>&1 | grep -c nowfarm)" 0

# a file that was there stays as it was
echo precious > "$work/results/r.bin"
start run synth --units 1000 --cost 50ms --slaves 3 --json \
    --out "$work/results/r.bin"
check "over an old file: slaves are there" wait_until 10 some_slaves 3
sleep 0.3
kill -INT "$pid"
await 15
same "over an old file: exit status" "$rc" 130
same "over an old file: its content" "$(cat "$work/results/r.bin")" precious
same "over an old file: nothing beside it" "$(ls -A "$work/results")" r.bin
finish
