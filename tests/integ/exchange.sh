#!/bin/bash
# By which algorithm slaves exchange: as the model says, or NOWFARM_COLL; in the report
# and in the trace; and with a slave killed in it.
. "${0%/*}/lib.sh"
need_pvm

transpose() { run run transpose "$@" --verify --json; }
by() { same "$1: by" "$(json exchange.algorithm)" "$2"; }
in_trace() { grep '"phase_end"' "$work/trace" | grep -c "\"algorithm\":\"$1\""; }

# Any of them, pieces of any size, empty ones too.
for wish in alltoall.pairwise_shift alltoall.pairwise_xor alltoall.naive \
    alltoall.dh alltoall.dh:shape=2x2 alltoall.bruck:radix=2 \
    alltoall.mixed:radices=2x2 alltoall.burst; do
    export NOWFARM_COLL=$wish
    for transport in pvm local; do
        transpose --rows 301 --cols 207 --slaves 4 --slots 1 --transport $transport \
            --trace "$work/trace"
        job_verified "$wish, $transport"
        by "$wish, $transport" "$wish"
        same "$wish, $transport: in the trace" "$(in_trace "$wish")" \
            "$(json exchange.slaves)"
    done
    transpose --rows 5 --cols 3 --bands 9 --slaves 4
    job_verified "$wish, empty pieces"
    run run sort --count 3000 --units 8 --way bitonic --slaves 4 --verify --json
    job_verified "$wish, six exchanges"
    by "$wish, six exchanges" "$wish"
    same "$wish, six exchanges: all by it" "$(json exchange.algorithms.0)" "$wish"
    check "$wish, six exchanges: told once" eval '! has_field exchange.algorithms.1'
done
# And those that go along the sides of grids; dh of odd sides is mdh.
while read -r slaves wish; do
    export NOWFARM_COLL=$wish
    for transport in pvm local; do
        transpose --rows 301 --cols 207 --bands 36 --policy static --slots 1 \
            --slaves "$slaves" --transport $transport --trace "$work/trace"
        job_verified "$wish, $transport"
        by "$wish, $transport" "$wish"
        same "$wish, $transport: in the trace" "$(in_trace "$wish")" \
            "$(json exchange.slaves)"
    done
done << 'END'
4 alltoall.cdh
5 alltoall.dh
5 alltoall.khop:radix=3
6 alltoall.bruck_grid:shape=2x3
6 alltoall.pairwise_grid:shape=2x3
9 alltoall.mdh:shape=3x3
9 alltoall.dh:shape=3x3
9 alltoall.split_merge:shape=3x3
9 alltoall.split_merge0:shape=3x3
END
export NOWFARM_COLL=alltoall.burst
transpose --rows 301 --cols 207 --slaves 4 --trace "$work/trace"
run gantt "$work/trace" -o "$work/gantt.svg"
check "the picture has it" grep -q 'exchange, .* by alltoall.burst' "$work/gantt.svg"

# What is not for so many is left aside, with a line; what is of other operations
# changes nothing; what is no algorithm is refused.
export NOWFARM_COLL=alltoall.pairwise_xor
transpose --rows 100 --cols 100 --slaves 3
job_verified "for a power of two, with three"
by "for a power of two, with three" alltoall.burst
check "for a power of two, with three: a line" \
    err_says 'NOWFARM_COLL: .*not 3: going by the model'
NOWFARM_COLL=reduce.linear transpose --rows 100 --cols 100 --slaves 3
by "of another operation" alltoall.burst
NOWFARM_COLL=alltoall.nonsense transpose --rows 100 --cols 100 --slaves 3
refused 2 "no algorithm"
unset NOWFARM_COLL

# Beside the measured time stands what the model says of this algorithm: with parameters
# too, of which formulas know nothing.
model_of() { # WISH: sets model
    NOWFARM_COLL=$1 transpose --rows 400 --cols 400 --slaves 4 --slots 1 \
        --policy static --transport pvm
    by "$1, model" "$1"
    model=$(json exchange.model_s)
}
model_of alltoall.dh
ring=$model
model_of alltoall.burst
burst=$model
check "another algorithm has another price" [ "$ring" != "$burst" ]
model_of alltoall.dh:shape=4
check "a ring by its schedule is priced as by its formula" awk \
    "BEGIN { d = $model / $ring - 1; exit !(d * d < 1e-18) }"
model_of alltoall.pairwise_grid:shape=2x2
check "what has no formula is not priced as a burst" [ "$model" != "$burst" ]

# By the model: blocks of a few bytes between many are combined, large ones are not.
# Between threads it is what was measured when the job began, which differs from machine
# to machine: tests/unit/test_exchange_choice.c judges what is chosen by given numbers.
for transport in pvm local; do
    run run sort --count 32 --units 32 --policy static --slaves 32 --slots 1 \
        --transport $transport --verify --json
    job_verified "little among many, $transport"
    # programs with sanitizers take so long to start that the job may begin with three
    if [ $transport = pvm ] && { [ $sanitized = 0 ] || [ "$(json exchange.slaves)" = 32 ]; }
    then
        by "little among many, $transport" alltoall.mixed:radices=2x2x2x2x2
    elif [ $transport = pvm ]; then
        echo "# little among many: not judged, $(json exchange.slaves) of 32 were there in time"
    fi
    transpose --rows 1600 --cols 1600 --slaves 32 --slots 1 --policy static \
        --transport $transport
    job_verified "much among many, $transport"
    [ $transport = local ] || by "much among many, $transport" alltoall.burst
    by=built-in
    [ $transport = pvm ] || by=threads
    same "much among many, $transport: chosen by" "$(json exchange.chosen_by)" $by
    [ $transport = local ] || by_network=$(json exchange.model_s)
done
check "between threads the model is of what was measured, not of a network" \
    awk "BEGIN { exit !($(json exchange.model_s) != $by_network) }"

# By a table of members that shared processors: of which there are more on one host
# here, and less.
write_table() { # LINE...: a table of these, with its checksum
    printf '%s\n' 'nowfarm-collectives 1' 'library 1' 'hosts 00000001' \
        'route direct' 'encoding raw' 'delta 1' "$@" > "$work/table"
    read -ra crc < <(gzip -c "$work/table" | tail -c 8 | od -An -tu1 -N4)
    printf 'end %02x%02x%02x%02x\n' "${crc[3]}" "${crc[2]}" "${crc[1]}" \
        "${crc[0]}" >> "$work/table"
}
table() { # SHARE_PART
    write_table 'occupancy_us 5' 'share_us 1' "share_part $1" 'piece 0 100 0.001'
}
for transport in pvm local; do
    for part in "1 alltoall.burst" "0.01 alltoall.mixed:radices=2x2x2"; do
        read -r part want <<< "$part"
        table "$part"
        transpose --slaves 8 --rows 64 --cols 64 --slots 1 --policy static --transport $transport \
            --table "$work/table"
        job_verified "$part of them on one host, $transport"
        by "$part of them on one host, $transport" "$want"
        check "$part of them on one host, $transport: the table is right" \
            eval '! err_says "built-in model"'
    done
done

# Slaves here are all on one host, so that what messages take between others has no say:
# there blocks of 512 bytes would not be combined, as their bytes are slow.
for near in "'' alltoall.burst" "near_0_15_0.0001 alltoall.mixed:radices=2x2x2"; do
    read -r near want <<< "$near"
    if [ "$near" = "''" ]; then
        write_table 'occupancy_us 90' 'piece 0 100 0.1'
    else
        write_table 'occupancy_us 90' 'piece 0 100 0.1' "${near//_/ }"
    fi
    transpose --slaves 8 --rows 64 --cols 64 --slots 1 --policy static --transport pvm \
        --table "$work/table"
    job_verified "by the link within the host, $near"
    by "by the link within the host, $near" "$want"
    near_model=${by_near:-0}
    by_near=$(json exchange.model_s)
done
check "and priced by it" awk "BEGIN { exit !($by_near < $near_model / 3) }"

# ------------------------------------------------------------ in mid-exchange
exchanging() { grep -q "exchange $1: phase 0, among" "$work/err"; }
export NOWFARM_LOG=info
for wish in alltoall.pairwise_shift alltoall.mixed:radices=2x2 alltoall.dh \
    alltoall.bruck:radix=2; do
    export NOWFARM_COLL=$wish
    counted=0
    for delay in 0.05 0.02 0 0.1 0; do
        wait_until 10 no_slaves
        start run transpose --rows 4000 --cols 5000 --bands 40 --slaves 4 --slots 1 \
            --verify --json
        check "four slaves are there" wait_until 10 some_slaves 4
        mapfile -t slaves < <(slave_pids)
        check "the exchange begins" wait_until 30 exchanging 1
        sleep $delay
        kill -9 "${slaves[2]}"
        await 60
        job_verified "$wish, killed in the exchange"
        err_says 'exchange 1 is off: slave [0-9]+ .* is lost' || continue
        counted=$((counted + 1))
        same "$wish, killed in it: lost slaves" "$(json lost_slaves)" 1
        at_least "$wish, killed in it: exchanges" "$(json exchange.tries)" 2
        break
    done
    at_least "$wish: killed in the exchange so often" $counted 1
done
unset NOWFARM_LOG NOWFARM_COLL

check "no slave is left" wait_until 5 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
