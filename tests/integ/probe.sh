#!/bin/bash
# `nowfarm probe`: between real PVM tasks and between threads, the model file,
# members that die, signals, and what is turned down.  How fast anything is, is
# not asserted.
. "${0%/*}/lib.sh"
cd "$work" || exit 99

# a model of three hosts, by hand: ws2 is slow
curve() { echo "{\"us\": $1, \"us_per_byte\": $2}"; }
make_model() { # DATE
    local from to
    echo "{\"nowfarm_network\": 1, \"date\": \"$1\","
    echo '"medium": "switch", "route": "direct", "encoding": "raw",'
    echo '"collective": {"pieces": [[0, 50, 0.1]], "delta": 1, "o_s_us": 9,'
    echo '"t_op": [["double", "sum", 0.001]]}, "hosts": ['
    for from in ws0 ws1 ws2; do
        [ $from = ws0 ] || echo ,
        echo "{\"name\": \"$from\", \"send\": $(curve 10 0.001),"
        echo "\"recv\": $(curve 12 0.002), \"hold\": $(curve 11 0.0625)}"
    done
    echo '], "wires": ['
    for from in ws0 ws1 ws2; do
        for to in ws0 ws1 ws2; do
            [ $from != $to ] || continue
            [ $from$to = ws0ws1 ] || echo ,
            echo "{\"from\": \"$from\", \"to\": \"$to\","
            if [ $from = ws2 ] || [ $to = ws2 ]; then
                echo "\"wire\": $(curve 40 0.5)}"
            else
                echo "\"wire\": $(curve 30 0.125)}"
            fi
        done
    done
    echo ']}'
}

# --- bad input
bad() { # TEXT ARGS...
    local text=$1
    shift
    run probe "$@"
    refused 2 "$text"
}
bad "an argument" ws1
bad "no option" --fast
bad "no such medium" --medium air
bad "no such transport" --transport mpi
bad "hosts of threads" --transport local --hosts x
bad "routes of threads" --transport local --route daemon
bad "no such route" --route air
bad "one member" --slaves 1
bad "members in words" --slaves few
bad "trees of no size" --trees 0B --slaves 2
bad "trees of a size without a unit" --trees 64KiB,5 --slaves 2
bad "no size after a comma" --trees 64KiB, --slaves 2
bad "a budget without a unit" --budget 30
bad "no budget" --budget 1us
bad "a time-out without a unit" --timeout 30
bad "no folder for the model" -o none/model.json --slaves 2
bad "a hosts file that is not there" --hosts none --slaves 2
seq -f node%g 513 > many
bad "more hosts than a model has" --hosts many
check "more hosts than a model has: how many" \
    err_says 'many has 513 hosts: want up to 512'
bad "a model to show that is not there" --show none
bad "showing and measuring" --show model --slaves 2
bad "showing and validating" --show model --validate
bad "showing and waiting" --show model --timeout 5s
make_model 2026-01-01T00:00:00Z > good.json
sed 's/"us": 10,/"us": -10,/' good.json > negative.json
sed 's/"us": 10,/"us": NaN,/' good.json > nan.json
sed 's/"to": "ws2"/"to": "ws9"/' good.json > stranger.json
sed 's/"name": "ws1"/"name": "ws0"/' good.json > twice.json
sed 's/"nowfarm_network": 1/"nowfarm_network": 2/' good.json > later.json
without_the_last() { head -n $(($(wc -l < good.json) - 3)) good.json; echo ']}'; }
without_the_last > missing.json
head -c 300 good.json > cut.json
for what in negative nan stranger twice later missing cut; do
    bad "a model file: $what" --show $what.json
    check "a model file: $what: file, line and place" \
        err_says "^nowfarm: $what.json:[0-9]+: "
done
make_model 2999-01-01T00:00:00Z > future.json
bad "a model of the future" --show future.json
check "a model of the future: what is wrong" err_says 'future.json: date: '
printf 'ws0\nws0\n' > badhosts
bad "a hosts file with a bad line" --show good.json --hosts badhosts
check "a hosts file with a bad line: the line" err_says 'badhosts:2: '
check "nothing was started for these" no_pvmd

# --- a model that there is
run probe --show good.json
same "show: exit status" "$rc" 0
check "show: an old model is said to be old" err_says 'good.json: .* days old'
same "show: in one line" "$(err_lines)" 1
check "show: a table" grep -q '^ws0 > ws2 ' out
make_model "$(date -u +%Y-%m-%dT%H:%M:%SZ)" > new.json
run probe --show new.json --json
same "show, JSON: exit status" "$rc" 0
check "show, JSON: one object" only_json
same "show, JSON: a new model is not old" "$(err_lines)" 0
same "show, JSON: t_s" "$(json t_s_us)" 50.0
same "show, JSON: t_hold" "$(json t_hold.us_per_byte)" 0.0625
same "show, JSON: t_hold: a line" "$(json t_hold.by)" line
same "show, JSON: t_hold: its points" "$(json t_hold.points.6.0)" 65536.0
same "show, JSON: a wire" "$(json network.wires.1.wire.us_per_byte)" 0.5
sed 's/\[0, 50, 0.1\]/[0, 50, 0]/' new.json > free.json
run probe --show free.json --json
same "show, JSON: bytes that take no time" "$(json t_s_us) $(json bytes_per_us)" "50.0 null"
run probe --show free.json
check "show: bytes that take no time" grep -q '^# of groups: T(m) = 50.0 us, delta' out
printf 'ws0\nws2\nws7\n' > hosts
run probe --show new.json --hosts hosts --json
same "other hosts: exit status" "$rc" 0
check "other hosts: is told" err_says 'other hosts: 1 of it .* 1 here'
same "other hosts: the new one" "$(json network.hosts.2.name)" ws7
same "other hosts: counts as slow" \
    "$(json network.wires.1.wire.us_per_byte)" 0.5
printf 'ws2\nws1\nws0\n' > hosts
run probe --show new.json --hosts hosts
same "the same hosts: nothing is told" "$(err_lines)" 0
check "no virtual machine was started for these" no_pvmd

# --- threads
measured() { # TEXT MODEL MEMBERS: as the last run with --json says
    same "$1: exit status" "$rc" 0
    check "$1: stdout is one JSON object" only_json
    check "$1: how long is said before" err_says '^nowfarm: [0-9]+ pairs of .* about [0-9]+ s'
    check "$1: last host" has_field "network.hosts.$(($3 - 1)).name"
    check "$1: not more" eval "! has_field network.hosts.$3.name"
    check "$1: last pair" has_field "network.wires.$(($3 * ($3 - 1) - 1)).wire.us"
    check "$1: t_end" has_field t_end.us
    check "$1: LogGP" has_field loggp.L_us
    for at in send.points.0 send.points.6 recv.points.0; do
        check "$1: $at: and what a fifth of the times were no longer than" \
            awk "BEGIN {low = $(json network.hosts.0.$at.2)
                exit !(low > 0 && low < $(json network.hosts.0.$at.1) + 0.001)}"
    done
    check "$1: t_op" has_field t_op_us_per_byte
    check "$1: the file can be shown" "$NF" probe --show "$2"
    check "$1: nothing else is left" \
        eval '[ -z "$(find . -name "*.tmp*" -o -name ".*.json*")" ]'
}
before_ms=$(now_ms)
run probe --transport local --slaves 3 --budget 1s -o local.json --json
took_ms=$(($(now_ms) - before_ms))
measured "threads" local.json 3
same "threads: what is said before is in the output" \
    "$(sed -n 's/^nowfarm: .* about \([0-9]*\) s, \([0-9]*\) s if .*/\1 \2/p' \
        "$work/err")" \
    "$(for key in planned_s most_s; do json $key; done |
        awk '{printf("%s%d", NR > 1 ? " " : "", $1 == int($1) ? $1 : int($1) + 1)}')"
check "threads: how long it took is all of it" awk "BEGIN {t = 1000 * $(json elapsed_s)
    exit !(t <= $took_ms && t >= $took_ms / 2)}"
same "threads: names differ" "$(json network.hosts.2.name)" 'local#2'
same "threads: not validated" "$(json validation)" null
run probe --transport local --slaves 2 --budget 1s -o local.json --validate -q
same "threads, validated: exit status" "$rc" 0
# but that it may be far off, as on a busy machine
same "threads, validated, quiet: nothing on stderr" \
    "$(grep -vc 'may be far off: .* probe again when they are idle' err)" 0
same "threads, validated: a line a tree and size" \
    "$(grep -Ec '^(star|chain|opt) +2 ' out)" 6
same "threads, validated: messages in a row, a line a size" \
    "$(grep -Ec '^# 16 messages of (1|64)\.0 KiB in a row to a host: error .* > .* us for' out)" 2
use=$(sed -n 's/^# for jobs and groups to go by it: export //p' out)
same "threads, for people: how to use it" "$use" \
    "NOWFARM_NETWORK=$(realpath local.json)"
same "threads, for people: that is the last line" \
    "$(tail -n 1 out | grep -c ' go by it: ')" 1
if command -v script > /dev/null; then
    script -qec "'$NF' probe --transport local --slaves 2 --budget 1s -o local.json \
        --validate" /dev/null < /dev/null > typescript 2>&1
    tr '\r' '\n' < typescript | sed 's/^\x1b\[K//' > progress
    check "on a terminal: what has no end that is known has no percents" \
        grep -q '^       broadcasts to all$' progress
    same "on a terminal: progress never falls" \
        "$(awk '/^ *[0-9]+ %  / {
            now = /trees of a byte$/ ? 1 : /trees$/ ? 2 : 0 # each from 0 to 100
            falls += now == last && $1 < n
            n = $1
            last = now
        } END {print falls + 0}' progress)" 0
    check "on a terminal: of trees too" grep -q '^ *[0-9]* %  trees of a byte$' progress
fi
mkdir 'a folder'
run probe --transport local --slaves 2 --budget 1s -o 'a folder/m.json' -q
use=$(sed -n 's/^# for jobs and groups to go by it: //p' out)
same "threads, a name with a space: as a shell takes it" \
    "$(eval "$use" && cat "$NOWFARM_NETWORK")" "$(cat 'a folder/m.json')"
run probe --transport local --slaves 3 --budget 1s -o local.json -q \
    --trees 1KiB,100KiB --json
same "threads, trees: exit status" "$rc" 0
listed() { "$jsonget" "$1" "$2.*.$3" 2> /dev/null; } # FILE LIST FIELD: a line each
"$NF" trees --json > trees
same "threads, trees: all of them, at both sizes" \
    "$(listed out validation tree | sort | uniq -c | tr -s ' ')" \
    "$({ listed trees network_trees name; listed trees trees name; } |
        sort | sed 's/^/ 2 /')"
same "threads, trees: these sizes" "$(listed out validation bytes | sort -un)" \
    "$(printf '1024\n102400')"
same "threads, trees: what is one and the same tree has one time at each size" \
    "$(paste <(listed out validation tree) <(listed out validation bytes) \
        <(listed out validation measured_us) | grep '^binomial-' |
        cut -f 2,3 | sort | uniq -c | awk '{print $1, $2}')" \
    "$(printf '2 1024\n2 102400')"

# --- tasks
grep -q '^#define HAVE_PVM3 1' "$top_builddir/config.h" || finish
run -t 120 probe --slaves 3 --budget 2s -o pvm.json --validate --json
measured "pvm" pvm.json 3
same "pvm: trees" "$(json validation.5.tree)" opt
for i in 0 1 2 3 4 5; do
    check "pvm: tree $i was predicted and measured" has_field \
        "validation.$i.predicted_us"
    check "pvm: tree $i: with an error" has_field "validation.$i.error_percent"
done
same "pvm: each host gets messages in a row, of both sizes" \
    "$(paste <(listed out floods to) <(listed out floods bytes) | sort | uniq -c |
        awk '{n += $1 == 1} END {print n, NR}')" "6 6"
check "pvm: and what that takes was predicted" has_field floods.5.error_percent
check "pvm: the model plans broadcasts" "$NF" plan bcast tree \
    --network pvm.json --size 64KiB --check
run -t 120 coll-bench bcast --algorithm tree --slaves 3 --network pvm.json \
    --sizes 64KiB --repeat 3 --json
same "pvm: and these run" "$(json results.0.algorithm)" bcast.tree
check "pvm: nothing is left of the members" wait_until 5 no_slaves
check "pvm: nor of the virtual machine" wait_until 5 no_pvmd
run probe --slaves 2 --budget 1s --medium shared
same "pvm, two, for people: exit status" "$rc" 0
check "pvm, two: the model is where it is by default" \
    grep -q '"medium": "shared"' nowfarm-network.json
check "pvm, two: one by one" err_says 'one by one'
cp nowfarm-network.json before.json
run -t 120 probe --slaves 3 --budget 1s --route daemon -o daemon.json -q
same "by the pvmds: exit status" "$rc" 0
check "by the pvmds: the model says so" grep -q '"route": "daemon"' daemon.json
run probe
refused 2 "one host alone has nobody to measure with"

# --- a member that dies, or stops
for signal in KILL STOP; do
    start probe --slaves 4 --budget 60s --timeout 2s
    check "a member to be $signal: all run" wait_until 20 some_slaves 3
    check "a member to be $signal: it has begun" \
        wait_until 30 err_says ' pairs of 4'
    sleep 0.5
    kill -$signal "$(slave_pids | head -n 1)"
    await 20
    same "a member $signal: exit status" "$rc" 1
    # by the probe of pairs, or if that was over already, of groups
    check "a member $signal: a host is named" \
        err_says '^nowfarm: (host |rank [1-3] on )'
    check "a member $signal: the others end" wait_until 10 no_slaves
    check "a member $signal: so does the virtual machine" wait_until 10 no_pvmd
    check "a member $signal: the old model stays" \
        cmp -s before.json nowfarm-network.json
done

# --- signals
for signal in INT TERM; do
    start probe --slaves 3 --budget 60s
    check "to be sent $signal: it has begun" \
        wait_until 30 err_says ' pairs of 3'
    kill -$signal "$pid"
    await 10
    same "$signal: exit status" "$rc" 130
    check "$signal: the members end" wait_until 10 no_slaves
    check "$signal: so does the virtual machine" wait_until 10 no_pvmd
    check "$signal: the old model stays" \
        cmp -s before.json nowfarm-network.json
done

# --- no program for the members
NOWFARM_SLAVE_PROGRAM=/nowhere run probe --slaves 2
refused 3 "no program for the members"
finish
