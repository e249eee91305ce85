#!/bin/bash
# Broadcasts by a measured network: the plan of its tree, real PVM tasks and
# threads that go down it, and files that are no models.
. "${0%/*}/lib.sh"
cd "$work" || exit 99

curve() { echo "{\"us\": $1, \"us_per_byte\": $2}"; }
# model HOST...: each is slower than the one before
model() {
    local from to us=10 comma=
    echo "{\"nowfarm_network\": 1, \"date\": \"$(date -u +%FT%TZ)\","
    echo '"medium": "switch", "route": "direct", "encoding": "raw",'
    echo '"collective": {"pieces": [[0, 176, 0.1]], "delta": 1, "o_s_us": 5,'
    echo '"t_op": []}, "hosts": ['
    for from; do
        echo "$comma{\"name\": \"$from\", \"send\": $(curve $us 0.001),"
        echo "\"recv\": $(curve $us 0.001), \"hold\": $(curve $us 0.08)}"
        us=$((us * 2)) comma=,
    done
    echo '], "wires": ['
    comma=
    us=40
    for from; do
        for to; do
            [ "$from" != "$to" ] || continue
            echo "$comma{\"from\": \"$from\", \"to\": \"$to\","
            echo "\"wire\": $(curve $us "$(printf 0.%03d $us)")}"
            us=$(((us * 7 + 13) % 400 + 40)) comma=,
        done
    done
    echo ']}'
}
rows() { json "results.*.$1"; }
refuse() { # TEXT PATTERN ARGS...
    local text=$1 pattern=$2
    shift 2
    run "$@"
    refused 2 "$text"
    check "$text: the line says so" err_says "$pattern"
}

# --- plans
model a b c d > net.json
for size in 64B 64KiB 1MiB; do
    for root in 0 3; do
        run plan bcast tree --network net.json --size $size --root $root \
            --check --json
        same "$size from $root: exit status" "$rc" 0
        same "$size from $root: checked" "$(json checked)" true
        same "$size from $root: ranks are hosts" "$(json ranks)" 4
        check "$size from $root: nothing is cheaper than the cheapest" \
            awk "BEGIN {exit !($(json network.cheapest.predicted_us) <= \
                $(json network.predicted_us))}"
    done
done
run plan bcast tree --network net.json --size 1MiB --root d --json
same "a root by its name: exit status" "$rc" 0
same "... is that one" "$(json root)" 3
cp out by_name
run plan bcast tree --network net.json --size 1MiB --root 3 --json
check "... and the plan is the same" cmp -s out by_name
for root in e 4 -1 '' 1x; do
    refuse "no host \"$root\" of a network" \
        "^nowfarm: --root $root: want one of the 4 hosts of net.json, or its number" \
        plan bcast tree --network net.json --size 1MiB --root "$root"
done
refuse "a root by name without a network" "--root d: want a count from 0 to 3" \
    plan bcast binomial --ranks 4 --root d
# on a hub: the first one's way to the wire, all bytes on it, one after the other,
# the last one's way; c and d take longer to send and receive, but root a sends
sed 's/"switch"/"shared"/; s/"us_per_byte": 0\.[0-9]*}/"us_per_byte": 0.1}/g;
    s/"us": [0-9]*, "us_per_byte"/"us": 0, "us_per_byte"/g' net.json |
    sed '/"recv"/s/0\.1/0.001/; /"send"/s/"send": {"us": 0, "us_per_byte": 0.1}/"send": {"us": 0, "us_per_byte": 0.001}/' \
        > hub.json
run plan bcast flat --network hub.json --size 1MB --json
same "a star on a hub: exit status" "$rc" 0
same "and takes what all its messages do" "$(json network.predicted_us)" \
    "$(awk 'BEGIN {printf "%.1f", 1e6 * (0.001 + 3 * 0.1 + 0.001)}')"
run plan bcast tree --network hub.json --size 1MB --json
check "a tree is no slower" awk "BEGIN {exit !($(json network.predicted_us) \
    <= 302000)}"
model a b c d e f > six.json
run plan bcast tree --network six.json --size 64KiB --root 2 --json
same "where hosts differ that is the tree" \
    "$(json network.cheapest.algorithm)" bcast.tree
run plan bcast circulant --network net.json --size 64KiB --json
check "another one has a price too" \
    awk "BEGIN {exit !($(json network.predicted_us) > 0)}"
run plan bcast tree --ranks 13 --root 5 --segments 6 --check
same "without a network it is binomial: exit status" "$rc" 0
same "and sends to all" "$(wc -l < out)" $((12 * 6))
refuse "a plan of a reduction" "only for bcast" \
    plan reduce linear --network net.json --size 1KiB
sed 's/"encoding"/"call_us": 5000, &/' net.json > call.json
for algorithm in tree binomial flat; do
    for file in net call; do
        run plan bcast $algorithm --network $file.json --size 64KiB --json
        json network.predicted_us > $file.us
        json network.cheapest.algorithm > $file.cheapest
    done
    check "$algorithm: what a call takes is in its price" \
        awk "BEGIN {d = $(cat call.us) - $(cat net.us); exit !(d > 4999.9 && d < 5000.1)}"
    same "$algorithm: the same is the cheapest" "$(cat call.cheapest)" "$(cat net.cheapest)"
done
refuse "a plan without a size" "want --size" plan bcast tree --network net.json
refuse "a size without a network" "goes with --network" \
    plan bcast tree --ranks 4 --size 1KiB
refuse "other ranks than hosts" "--ranks 5" \
    plan bcast tree --network net.json --size 1KiB --ranks 5
refuse "a network and elements" "there is --size" \
    plan bcast tree --network net.json --size 1KiB --count 3

# --- no models
echo '{"nowfarm_network": 1}' > bad.json
for command in "plan bcast tree --size 1KiB" \
    "coll-bench bcast --slaves 3 --sizes 8B"; do
    # shellcheck disable=SC2086
    refuse "$command: half a model" "--network bad.json:1: " \
        $command --network bad.json
    # shellcheck disable=SC2086
    refuse "$command: no file" "--network none.json: No such file" \
        $command --network none.json
done
{
    cat net.json
    head -c 17000000 /dev/zero | tr '\0' ' '
} > long.json
refuse "coll-bench: a long file" "--network long.json: 17 MiB, a group takes up to 16" \
    coll-bench bcast --slaves 3 --sizes 8B --network long.json
refuse "tuning by a network" "not with --tune" \
    coll-bench bcast --network net.json --tune
refuse "coll-bench: too many members" "--slaves 129: with --network up to 128" \
    coll-bench bcast --slaves 3,129 --sizes 8B --network net.json
seq -f other%g 129 > many.hosts
refuse "coll-bench: too many hosts" "many.hosts has 129 hosts: want up to 128 with --network" \
    coll-bench bcast --sizes 8B --hosts many.hosts --network net.json
sed 's/"date": "20/"date": "22/' net.json > coming.json
for command in "plan bcast tree --size 1KiB" \
    "coll-bench bcast --slaves 3 --sizes 8B"; do
    # shellcheck disable=SC2086
    refuse "$command: a model of the future" \
        "--network coming.json: date: 22[-:0-9T]*Z is still to come" \
        $command --network coming.json
done
check "no virtual machine was started" no_pvmd

# --- threads
model local a b > here.json
run coll-bench bcast --algorithm tree --transport local --slaves 5 \
    --network here.json --sizes 1B,8KiB,1000003B --repeat 2 --json
same "threads: exit status" "$rc" 0
same "threads: by the tree" "$(rows algorithm | sort | uniq -c | tr -s ' ')" \
    " 3 bcast.tree"

# aged FROM TO: that model, 30 days older
aged() {
    sed "s/\"date\": \"[^\"]*\"/\"date\": \"$(date -u -d '30 days ago' +%FT%TZ)\"/" \
        "$1" > "$2"
}
doubts() { grep -c "^nowfarm: $1: the model is $2: measure again\$" "$work/err"; }
threads=(coll-bench bcast --transport local --slaves 3 --sizes 8B --repeat 2)
aged here.json old.json
sed 's/"route": "direct"/"route": "daemon"/' here.json > pvmds.json
sed 's/"route": "direct"/"route": "daemon"/' old.json > both.json
for case in "here.json|" "old.json|30 days old" \
    "pvmds.json|of messages by the daemons" \
    "both.json|30 days old, of messages by the daemons"; do
    run "${threads[@]}" --network "${case%|*}"
    same "threads, ${case%|*}: exit status" "$rc" 0
    same "threads, ${case%|*}: lines" "$(err_lines)" "$([ -z "${case#*|}" ]; echo $?)"
    [ -z "${case#*|}" ] ||
        same "threads, ${case%|*}: says so" "$(doubts "${case%|*}" "${case#*|}")" 1
done
run "${threads[@]}" --network net.json
same "threads, other hosts: one line" "$(err_lines)" 1
check "threads, other hosts: says so" \
    err_says '^nowfarm: net.json: 3 of 3 members are on hosts that were not'

# --- PVM tasks; every result is checked
need_pvm
model "$(hostname)" a b > here.json
for file in here.json net.json; do # in net.json this host is not known
    run coll-bench bcast --algorithm tree --slaves 4 --network $file \
        --sizes 1B,8KiB,1000003B --repeat 3 --json
    same "tasks, $file: exit status" "$rc" 0
    same "tasks, $file: by the tree" \
        "$(rows algorithm | sort | uniq -c | tr -s ' ')" " 3 bcast.tree"
    run coll-bench bcast --slaves 2,5 --network $file --sizes 8B,200KiB \
        --repeat 3 --json
    same "tasks choose, $file: exit status" "$rc" 0
    same "tasks choose, $file: results" "$(rows algorithm | wc -l)" 4
done
aged here.json old.json
run coll-bench bcast --slaves 3 --network old.json --sizes 8B --repeat 3
same "tasks, an old model: exit status" "$rc" 0
same "tasks, an old model: one line" "$(err_lines)" 1
same "tasks, an old model: says so" "$(doubts old.json '30 days old')" 1
# --- members that could plan another tree
NOWFARM_SLAVE_PROGRAM=$top_builddir/tests/integ/odd_slave \
    run coll-bench bcast --slaves 3 --network here.json --sizes 8B
same "other doubles: exit status" "$rc" 1
# beside what each group that is opened logs
same "other doubles: one line" "$(grep -vc ' warn: the doubles of' "$work/err")" 1
check "other doubles: whose they are" err_says "the doubles of member 1 "
NOWFARM_SLAVE_PROGRAM=$top_builddir/tests/integ/odd_slave \
    run coll-bench bcast --slaves 3 --sizes 8B
same "other doubles and no network: exit status" "$rc" 0
check "other doubles and no network: no model chooses" \
    err_says "the doubles of member 1 .*algorithms go by a fixed rule"
check "nothing is left of the members" wait_until 5 no_slaves

# --- shared data of the farm; all slaves are on one host
export NOWFARM_LOG=info
planned() { err_says "shared data is planned by $1"; }
says() { err_says "shared data to [23] slaves by $1"; }
job=(run matmul --n 320 --slaves 3 --verify --json)
for file in here.json net.json; do
    NOWFARM_COLL=bcast.tree run_shared "${job[@]}" --network $file
    job_verified "shared data, $file"
    check "shared data, $file: by the tree" says 'bcast\.tree$'
    check "shared data, $file: as planned" planned "$file: bcast\.tree:k="
    same "shared data, $file: it is in the report" \
        "$(json shared.algorithm) $(json shared.network)" "bcast.tree $file"
    at_least "shared data, $file: to all who were there" \
        "$(json shared.slaves)" 2
    same "shared data, $file: all of it" "$(json shared.bytes)" $((320 * 320 * 8))
    check "shared data, $file: predicted and measured" awk "BEGIN {exit \
        !($(json shared.model_s) > 0 && $(json shared.time_s) > 0 &&
        $(json shared.time_s) < 10)}"
done
check "shared data: this host is not known, and that is told" err_says \
    'net.json: [34] of [34] members are on hosts that were not measured'
NOWFARM_NETWORK=here.json run_shared "${job[@]}"
job_verified "shared data, the cheapest"
check "shared data, the cheapest: is planned" planned here.json
check "shared data, the cheapest: some broadcast" says 'bcast\.'
NOWFARM_COLL=bcast.flat NOWFARM_NETWORK=here.json run_shared "${job[@]}"
job_verified "shared data, another broadcast is wished for"
check "shared data: it is taken" says 'bcast\.flat$'
NOWFARM_NETWORK=here.json NOWFARM_COLL=bcast.tree run_shared "${job[@]}" --network ""
job_verified "shared data, no network"
check "shared data, no network: nothing was planned" eval '! planned .'
same "shared data, no network: the report names none" \
    "$(json shared.algorithm) $(json shared.network) $(json shared.model_s)" \
    "bcast.tree null null"
run_shared run matmul --n 320 --slaves 3 --network here.json --trace t.trace
same "shared data, for people: exit status" "$rc" 0
check "shared data, for people: a line of it" grep -Eq '^shared 800\.0 KiB with [23] '\
'slaves by bcast\.[a-z0-9._]+: measured [0-9.]+ [mu]?s, network here.json [0-9.]+ [mu]?s$' out
check "shared data, the trace: of each slave" \
    grep -q '"name":"shared","algorithm":"bcast\.' t.trace
check "shared data, the trace: of all" grep -Eq '"ev":"end".*"shared_algorithm":'\
'"bcast\.[^"]*","shared_us":[0-9]+,"shared_network":"here.json","shared_model_us":[0-9]+' \
    t.trace
run gantt t.trace -o t.svg
same "shared data, the trace: it is read" "$rc" 0
unset NOWFARM_LOG
sed 's/"route": "direct"/"route": "daemon"/' here.json > pvmds.json
for case in "here.json|" "old.json|30 days old" \
    "pvmds.json|of messages by the daemons"; do
    run "${job[@]}" --network "${case%|*}"
    job_verified "shared data, ${case%|*}"
    same "shared data, ${case%|*}: lines" "$(err_lines)" \
        "$([ -z "${case#*|}" ]; echo $?)"
    [ -z "${case#*|}" ] ||
        same "shared data, ${case%|*}: says so" \
            "$(doubts "${case%|*}" "${case#*|}")" 1
done
for file in bad.json none.json coming.json; do # for all jobs, also this one
    export NOWFARM_NETWORK=$file
    run "${job[@]}"
    unset NOWFARM_NETWORK
    job_verified "shared data, $file"
    same "shared data, $file: one line" "$(err_lines)" 1
    check "shared data, $file: it says which" \
        err_says "$file.*: going by no network"
done
run "${job[@]}" --network coming.json # what is wrong may be a clock
job_verified "shared data, an option, coming.json"
check "shared data, an option, coming.json: it says which" \
    err_says "coming.json.*: going by no network"
for file in bad.json none.json; do
    refuse "shared data, an option, $file" "--network $file:" \
        "${job[@]}" --network $file
done
run "${job[@]}" --network long.json # no group gets it, so that it may be long
job_verified "shared data, a long file"
same "shared data, a long file: lines, network" "$(err_lines) $(json shared.network)" \
    "1 long.json"
check "shared data, a long file: that hosts are not in it" err_says \
    'long.json: [34] of [34] members are on hosts that were not measured'

# --- gathers, reductions and exchanges go by its model, if there is no table
# collective START US_PER_BYTE HANDS FILE: as here.json, with another model of these
collective() {
    sed 's/"pieces": .*"o_s_us": 5,/"pieces": [[0, '"$1, $2"']], "delta": 1, '"\
\"o_s_us\": $3,/" here.json > "$4"
}
collective 10 0.001 20000 hands.json # a message keeps its sender busy, however short
collective 100000 0.00001 1 far.json # all take as long
collective 1 1 1 thin.json           # each byte takes its time
{
    printf '%s\n' "nowfarm-collectives 1" "library 1" "hosts 00000000" "route direct" \
        "encoding raw" "delta 1" "occupancy_us 12" "piece 0 80 0.01" \
        "rule gather any 4 max gather.linear 1" \
        "rule reduce commutative 4 max reduce.chain.fd 3"
} > lan
printf 'end %08x\n' "0x$(gzip -c lan | tail -c 8 | od -An -tx1 -N4 |
    awk '{print $4 $3 $2 $1}')" >> lan
chosen() { # TEXT KEY ALGORITHM BY
    same "$1: by which" "$(json "$2.algorithm")" "$3"
    same "$1: by what" "$(json "$2.chosen_by")" "$4"
}
# gathered HOW ALGORITHM BY ARGS...: with three slaves that all had something to do
gathered() {
    local how=$1 algorithm=$2 by=$3 try result=(--result 40B)
    shift 3
    [ "$how" = tree ] || result=(--combine sum --result 24000B)
    for try in 1 2 3; do
        run run synth --units 60 --cost 2ms "${result[@]}" --slaves 3 \
            --slots 1 --policy static --gather "$how" --trace t.trace --verify \
            --json "$@"
        [ "$(json gather.slaves)" != 3 ] || break
        echo "# try $try: $(json gather.slaves) of 3"
    done
    job_verified "gather $how $*"
    chosen "gather $how $*" gather "$algorithm" "$by"
    check "gather $how $*: in the trace" \
        grep -Fq "\"gather_algorithm\":\"$algorithm\",\"gather_by\":\"$by\"" t.trace
    check "gather $how $*: each slave's in the trace" \
        grep -q "\"phase_end\".*\"algorithm\":\"$algorithm\"" t.trace
}
for transport in pvm local; do
    gathered tree gather.linear_nb built-in --transport $transport
    gathered tree gather.binomial "network hands.json" --network hands.json \
        --transport $transport
    gathered tree gather.linear_nb "network thin.json" --network thin.json \
        --transport $transport
    gathered tree gather.linear "table lan" --network hands.json --table lan \
        --transport $transport
    gathered reduce reduce.chain.fd "table lan" --network hands.json --table lan \
        --transport $transport
    gathered reduce reduce.binomial "network far.json" --network far.json \
        --transport $transport
    gathered reduce reduce.binomial built-in --transport $transport
done
NOWFARM_NETWORK=hands.json gathered tree gather.binomial "network hands.json"
NOWFARM_COLL=gather.linear gathered tree gather.linear NOWFARM_COLL \
    --network hands.json
aged hands.json old.json
gathered tree gather.binomial "network old.json" --network old.json
same "gather by an old model: says so, once" \
    "$(doubts old.json '30 days old') $(err_lines)" "1 1"
NOWFARM_NETWORK=bad.json gathered tree gather.linear_nb built-in
check "gather by a bad model: one line that says so" \
    err_says '^nowfarm: bad.json.*: going by no network$'
run run synth --units 60 --result 40B --slaves 3 --gather tree --network hands.json
check "gather, for people: by what" grep -q \
    '^gathered by tree: .* (gather\.[a-z_]*, by network hands.json)' out

exchanged() { # ALGORITHM BY ARGS...; "any" where it is the machine's to say
    local algorithm=$1 by=$2 try
    shift 2
    for try in 1 2 3; do
        run run transpose --rows 300 --cols 200 --bands 36 --slaves 4 --slots 1 \
            --policy static --trace t.trace --verify --json "$@"
        [ "$(json exchange.slaves)" != 4 ] || break
        echo "# try $try: $(json exchange.slaves) of 4"
    done
    job_verified "exchange $*"
    [ "$algorithm" != any ] || algorithm=$(json exchange.algorithm)
    chosen "exchange $*" exchange "$algorithm" "$by"
    check "exchange $*: in the trace" \
        grep -Fq "\"exchange_algorithm\":\"$algorithm\",\"exchange_by\":\"$by\"" t.trace
}
exchanged alltoall.burst built-in
exchanged any threads --transport local
for transport in pvm local; do
    exchanged alltoall.mixed:radices=4 "network hands.json" --network hands.json \
        --transport $transport
    exchanged alltoall.burst "network far.json" --network far.json \
        --transport $transport
    check "exchange by far.json: is priced by it" awk \
        "BEGIN {exit !($(json exchange.model_s) > 0.3)}"
done
exchanged alltoall.burst "table lan" --network hands.json --table lan
NOWFARM_COLL=alltoall.dh exchanged alltoall.dh NOWFARM_COLL --network hands.json
# a name that is long is told whole
long_name=alltoall.pairwise_grid:shape=2x2x1x1x1x1x1x1x1x1x1x1
NOWFARM_COLL=$long_name exchanged $long_name NOWFARM_COLL --transport local
exchanged alltoall.mixed:radices=4 "network old.json" --network old.json
same "exchange by an old model: says so" "$(doubts old.json '30 days old')" 1
run run transpose --rows 300 --cols 200 --slaves 4 --network hands.json
check "exchange, for people: by what" grep -q \
    ' (alltoall\.[a-z_0-9:=x]*, by network hands.json: measured ' out
check "no slave is left" wait_until 10 no_slaves
finish
