#!/bin/bash
# The shared data of a job by a measured network: a host whose link is thin gets it,
# and in a tree sends it to nobody; who comes late gets it of the nearest.
. "${0%/*}/lab-lib.sh"
need_pvm
lab_can rates || skip "$("$jsonget" "$work/can" reasons.rates)"
cd "$work" || exit 99

# curve US PER_BYTE
curve() { echo "{\"us\": $1, \"us_per_byte\": $2}"; }
# model THIN HOST...: links of 100 Mbit/s, those of THIN of 5
model() {
    local from to thin=$1 comma= rate
    shift
    echo "{\"nowfarm_network\": 1, \"date\": \"$(date -u +%FT%TZ)\","
    echo '"medium": "switch", "route": "direct", "encoding": "raw",'
    echo '"collective": {"pieces": [[0, 176, 0.1]], "delta": 1, "o_s_us": 5,'
    echo '"t_op": []}, "hosts": ['
    for from; do
        case $thin in "$from") rate=1.6 ;; *) rate=0.08 ;; esac
        echo "$comma{\"name\": \"$from\", \"send\": $(curve 20 0.001),"
        echo "\"recv\": $(curve 30 0.001), \"hold\": $(curve 20 $rate)}"
        comma=,
    done
    echo '], "wires": ['
    comma=
    for from; do
        for to; do
            [ "$from" != "$to" ] || continue
            rate=0.08
            case $thin in "$from" | "$to") rate=1.6 ;; esac
            echo "$comma{\"from\": \"$from\", \"to\": \"$to\","
            echo "\"wire\": $(curve 50 $rate)}"
            comma=,
        done
    done
    echo ']}'
}
bytes() { # what eth0 of host $1 has had (field 1) or sent (field 9)
    lab exec "$1" sed -n 's/ *eth0: *//p' /proc/net/dev | awk "{print \$$2}"
}
planned() { err_says "shared data is planned by $1"; }

lab up 4 100mbit
lab rate ws1 5mbit
hosts_file ws0 ws1 ws2 ws3 ws4
# nobody is to come late for want of a pvmd
for host in ws1 ws2 ws3 ws4; do
    run_in ws0 add $host
    same "$host is added" "$rc2" 0
done
export NOWFARM_LOG=info
model ws1 ws0 ws1 ws2 ws3 ws4 > net.json
model none a b c d e > foreign.json
echo '{"nowfarm_network": 1}' > bad.json
# 512 KiB: 0.8 s on the thin link
job=(run synth --units 600 --cost 10ms --shared 512KiB --slaves 5 --slots 1
    --hosts "$work/hosts" --verify --json)

for wish in "" bcast.tree; do
    had=$(bytes ws1 1)
    sent=$(bytes ws1 9)
    NOWFARM_COLL=$wish start_in ws0 "${job[@]}" --network net.json
    await 60
    job_verified "a thin link, wish '$wish'"
    check "a thin link: all go by what was planned" \
        err_says 'shared data to 5 slaves by bcast'
    check "a thin link: that was planned" planned "net.json: ${wish:-bcast}"
    same "a thin link: by which file is in the report" \
        "$(json shared.network) $(json shared.slaves)" "net.json 5"
    echo "# wish '$wish': $(json shared.algorithm), model $(json shared.model_s) s," \
        "measured $(json shared.time_s) s"
    # it is predicted, and measured, that a thin link takes its time
    check "a thin link: measured beside predicted" awk "BEGIN {exit \
        !($(json shared.model_s) > 0 && $(json shared.time_s) > 0.7)}"
    at_least "a thin link: ws1 has the data" $(($(bytes ws1 1) - had)) 524288 bytes
    [ -z "$wish" ] || at_most "a thin link: and sends it to nobody" $(($(bytes ws1 9) - sent)) \
        400000 bytes
done

start_in ws0 "${job[@]}" --network foreign.json
await 60
job_verified "a model of other hosts"
check "a model of other hosts: one line says so" err_says \
    '^nowfarm: foreign.json: 6 of 6 members are on hosts that were not measured'
check "a model of other hosts: it is gone by all the same" planned foreign.json

# Who comes late, as in place of one that died, gets it of the nearest, which is not
# the first one that has it.
has_computed() { err_says "\($1\): unit .* says hello"; }
lab rate ws1 100mbit
model none ws0 ws1 ws2 ws3 ws4 |
    sed '/"from": "ws3", "to": "ws4"/{n; s/0\.08/0.04/; b
        }; /"to": "ws4"/{n; s/0\.08/0.8/}' > near.json
start_in ws0 run synth --units 1500 --cost 10ms --shared 512KiB --slots 1 \
    --chatty --hosts "$work/hosts" --verify --json --network near.json
# both have the data: the broadcast is not what gives it to the next one
for host in ws3 ws4; do
    check "late: $host is at work" wait_until 30 has_computed $host
done
old=$(slaves_on ws4)
kill -9 $old
await 90
job_verified "late"
same "late: a slave was lost" "$(json lost_slaves)" 1
check "late: the next one of ws4 gets the data of ws3" err_says \
    'ws4.* gets the shared data of .*ws3.*, by the network'

unset NOWFARM_LOG
for file in bad.json none.json; do
    NOWFARM_NETWORK=$file start_in ws0 "${job[@]}"
    await 60
    job_verified "$file"
    same "$file: one line" "$(err_lines)" 1
    check "$file: which says so" err_says "$file.*: going by no network"
done
check "no slave is left" wait_until 10 eval '! has_slave ws0 && ! has_slave ws1'
finish
