#!/bin/bash
# `nowfarm coll-bench`: every operation with every algorithm between real PVM
# tasks and between threads, tuning and its table, members that die, signals, and
# what is turned down.
. "${0%/*}/lib.sh"
cd "$work" || exit 99
ops="bcast reduce allreduce reduce_scatter allgather scan exscan gather scatter
    barrier"

# rows FIELD: that field of all results
rows() { json "results.*.$1"; }
# has_all TEXT: the last run had every algorithm for 3 members
has_all() {
    local plan missing=
    rows algorithm | sort -u > got
    timeout 10 "$NF" plans > list
    sed -n 's/^\([a-z_]*\.[a-z0-9_.]*\): .*/\1/p' list > plans
    sed -i 's/:.*//' got # those with parameters too
    while read -r plan; do
        grep -qx "$plan" got || missing="$missing $plan"
    done < plans
    # for 2, 4, 8, ... members only, for even sides, for odd grids
    for plan in allgather.rec_doubling alltoall.pairwise_xor alltoall.dh \
        alltoall.split_merge alltoall.split_merge0; do
        missing=$(sed "s/ $plan\b//" <<< "$missing ")
    done
    same "$1: no algorithm is missing" "${missing// /}" ""
}

# --- predictions: nothing runs
run coll-bench bcast --model sp2 --slaves 4,16 --sizes 8B,64KiB --algorithm all --json
same "model: exit status" "$rc" 0
check "model: stdout is one JSON object" only_json
same "model: nothing was run" "$(json transport)" null
same "model: binomial over 16 takes 4 messages" \
    "$(rows algorithm > a; rows slaves > s; rows bytes > b; rows predicted_us > p
    paste a s b p | awk '$1 == "bcast.binomial" && $2 == 16 && $3 == 8 {
        printf("%.2f\n", $4)}' | sort -u)" 185.12
# all-to-all goes by what groups take, radices and all
run coll-bench alltoall --model a=100,b=0.1 --slaves 8 --sizes 16B --json
same "alltoall, by the model: with radices" "$(rows algorithm)" \
    "alltoall.mixed:radices=2x2x2"
# half duplex if nothing is said: two turns a round, among seven three
for row in "8 820.0" "8 410.0 ,delta=1" "8 615.0 ,delta=1.5" "7 1224.0"; do
    read -r slaves price delta <<< "$row"
    run coll-bench alltoall --model "a=100,b=0.1$delta" --slaves "$slaves" \
        --sizes 10B --json --algorithm mixed:radices=3x3
    same "a wish: is told" "$(rows algorithm)" "alltoall.mixed:radices=3x3"
    same "a wish of $slaves$delta: has its price" "$(rows predicted_us)" "$price"
done
# along a grid: S a + V b m, of the schedule that is made
for row in "dh 4x4 16" "mdh 5x5 25" "split-merge 3x3 9" "khop 3x5 15"; do
    read -r name shape slaves <<< "$row"
    run plan alltoall "$name" --shape "$shape" --check --json
    price=$(awk "BEGIN {printf \"%.3f\", $(json steps) * 46 + \
        $(json load.volume_blocks) * 1024 * 0.035}")
    run coll-bench alltoall --model SP2,delta=1 --slaves "$slaves" --sizes 1KiB \
        --json --algorithm "$name:shape=$shape"
    same "$name of $shape: its price" \
        "$(printf %.3f "$(rows predicted_us)")" "$price"
done
# where o_s is not known nothing speaks for more than one message at a time
for slaves in 3 16; do
    run coll-bench alltoall --model sp2,delta=1 --slaves $slaves --sizes 64KiB --json
    same "alltoall between $slaves without o_s" "$(rows algorithm)" \
        alltoall.pairwise_shift
    price=$(rows predicted_us)
    run coll-bench alltoall --model sp2,delta=1 --slaves $slaves --sizes 64KiB \
        --json --algorithm burst
    same "alltoall between $slaves without o_s: a burst is as dear" \
        "$(printf %.3f "$(rows predicted_us)")" "$(printf %.3f "$price")"
done
run coll-bench scan --model a=10,b=0.01,delta=1,g=0.001 --slaves 8 --csv model.csv
same "own model: exit status" "$rc" 0
same "own model: a line a size and one of names" "$(wc -l < model.csv)" 6
check "no virtual machine was started" no_pvmd

# --- threads
run coll-bench all --algorithm all --transport local --slaves 3 \
    --sizes 8B,40000B --repeat 5 --json
same "local: exit status" "$rc" 0
check "local: stdout is one JSON object" only_json
has_all "local"
same "local: five samples each, of two turns" \
    "$(rows samples_us | tr -cd ',\n' | sort -u)" ",,,,"
run coll-bench allgather --algorithm rec_doubling --transport local --slaves 4 \
    --repeat 2
same "an algorithm by its short name: exit status" "$rc" 0
check "and its name is told" grep -q '^allgather.rec_doubling ' out
run coll-bench bcast --algorithm bcast.pipeline.fd --segments 5 --sizes 1000B \
    --transport local --slaves 2,3 --repeat 1 --json
same "segments as asked for" "$(rows segments | sort -u)" 5
same "for each number of members" "$(rows slaves | tr '\n' ' ')" "2 3 "
run coll-bench bcast --algorithm pipeline.fd:k=5 --segments 5 --sizes 1000B \
    --transport local --slaves 2 --repeat 1 --json
same "segments as asked for twice" "$(rows segments)" 5
run coll-bench alltoall --algorithm all --transport local --slaves 8 --sizes 8B \
    --repeat 1 --json
rows algorithm | sort -u > got
same "alltoall, all: with parameters, too" "$(grep ':' got | grep -v 2x2x2)" \
    "$(printf 'alltoall.%s\n' {bruck_grid,cdh,dh,khop}:shape=2x4 \
        mixed:radices=2x4 {naive,pairwise_grid}:shape=2x4)"
run coll-bench bcast --algorithm all --segments 5 --sizes 1000B \
    --transport local --slaves 3 --repeat 1 --json
rows segments > k
rows auto > picked # a line of its own, with segments of its own
same "segments of all that have any" \
    "$(rows algorithm | paste - k picked | grep 'pipeline.*false$' | cut -f2 | sort -u)" 5

run coll-bench bcast --transport local --slaves 2 --sizes 8B --repeat 10 --json
same "no pause" "$(json pause_us)" 0
start_ms=$(now_ms)
run coll-bench bcast --transport local --slaves 2 --sizes 8B --repeat 10 \
    --pause 20ms --json
same "a pause: exit status" "$rc" 0
same "a pause is told" "$(json pause_us)" 20000
at_least "a pause before each of 10 calls and two more" \
    $(($(now_ms) - start_ms)) 240
check "a pause does not count" awk 'BEGIN {exit !('"$(rows median_us)"' < 20000)}'

# in_order TEXT: what the last run, of all operations and algorithms, has
in_order() {
    same "$1: exit status" "$rc" 0
    same "$1: every operation that combines" \
        "$(rows op | sort -u | tr '\n' ' ')" \
        "allreduce exscan reduce reduce_scatter scan "
    same "$1: is told" "$(rows ordered | sort -u)" true
    same "$1: nothing that wants to commute" "$(rows algorithm |
        grep -cx 'reduce.rabenseifner\|reduce.circulant\|allreduce.ring')" 0
}
run coll-bench all --ordered --algorithm all --transport local --slaves 5 \
    --sizes 8B,40000B --repeat 2 --json
in_order "ordered, local"
run coll-bench reduce --ordered --algorithm binomial_ordered --transport local \
    --slaves 3 --repeat 1 --csv ordered.csv
same "ordered, for people: exit status" "$rc" 0
check "ordered, for people: is told" grep -q '^# .*does not commute' out
same "ordered: the last column of the spreadsheet" \
    "$(sed 's/.*,//' ordered.csv | tr '\n' ' ')" "ordered 1 1 1 1 1 "
run coll-bench scan --ordered --model sp2 --slaves 8 --sizes 64KiB --json
same "ordered, by the model: exit status" "$rc" 0
same "ordered, by the model: is told" "$(rows ordered)" true

# --- an all-to-all with its shape
for wish in dh:shape=3x3 split-merge:shape=3x3 split-merge:merge0:shape=3x3 mdh:shape=3x3; do
    run coll-bench alltoall --algorithm $wish --slaves 9 --sizes 16B --model sp2 --json
    same "$wish: exit status" "$rc" 0
    same "$wish: a row" "$(rows bytes)" 16
    run coll-bench alltoall --algorithm $wish --slaves 9 --sizes 16B --transport local \
        --repeat 2 --json
    same "$wish: runs" "$rc" 0
done

# a ring of odd size is one of mdh
for where in "--model a=90,b=0.08" "--transport local --repeat 2"; do
    # shellcheck disable=SC2086
    run coll-bench alltoall --algorithm dh --slaves 5 --sizes 16B $where --json
    same "dh of five, $where: exit status" "$rc" 0
    same "dh of five, $where: by mdh" "$(rows algorithm)" alltoall.mdh
done

# --- bad input
bad() { # TEXT ARGS...
    local text=$1
    shift
    run coll-bench "$@"
    refused 2 "$text"
}
bad "no operation"
bad "another operation" broadcast
bad "two operations" bcast reduce
bad "no such algorithm" bcast --algorithm quick
bad "an algorithm of another operation" bcast --algorithm reduce.linear
bad "an algorithm for all operations" all --algorithm binomial
bad "an algorithm for 4 only" allgather --algorithm rec_doubling --slaves 3 --transport local
bad "an algorithm for 4, then for 3" allgather --algorithm rec_doubling --slaves 4,3 \
    --transport local
bad "an algorithm of threads if nobody says how many" reduce --algorithm rabenseifner \
    --sizes 8B --transport local
check "threads if nobody says how many: four" err_says 'not for 4 members and 8 bytes'
bad "a size that is too small, after one that is not" reduce --algorithm rabenseifner \
    --sizes 1MiB,8B --slaves 4
check "a size that is too small: which" err_says 'not for 4 members and 8 bytes'
same "a size that is too small: no pvmd was started" "$(pvmd_pids)" ""
for option in --hosts=hosts --table=t --repeat=3 --timeout=9s --pause=2ms \
    --transport=local; do
    bad "${option%=*} where nothing runs" bcast --model sp2 --slaves 4 "$option"
done
bad "no size" bcast --sizes ""
bad "a size of 0" bcast --sizes 0B
bad "a size without its unit" bcast --sizes 8B,4096
bad "a size in words" bcast --sizes 8B,big
bad "no size after a comma" bcast --sizes 8B,
bad "no number of members after a comma" bcast --slaves 2,
bad "half a double" reduce --sizes 12B
bad "one member" bcast --slaves 1
bad "members in words" bcast --slaves few
bad "no segments" bcast --segments 0
bad "segments of what has none" bcast --algorithm flat --segments 5
bad "segments where no algorithm has any" barrier --segments 5
check "segments where no algorithm has any: why" \
    err_says '--segments 5: no algorithm for it has segments'
bad "segments of all that have none" barrier --algorithm all -k 5
bad "two numbers of segments" bcast --algorithm pipeline.fd:k=5 -k 7
check "two numbers of segments: both are told" err_says '--segments 7: .*k=5'
bad "segments of what auto takes" bcast --segments 5
bad "segments of what tuning tries" bcast --tune --segments 5
bad "too many repeats" bcast --repeat 100000
bad "too few repeats to tune by" bcast --tune --repeat 9
check "too few repeats to tune by: how many" err_says '--repeat 9: .*at least 10'
bad "no such transport" bcast --transport mpi
bad "hosts of threads" bcast --transport local --hosts x
bad "no such hosts file" bcast --hosts nohosts --slaves 3
check "no such hosts file: which" err_says nohosts
bad "a table of nothing" bcast --out x
bad "tuning one algorithm" bcast --tune --algorithm flat
bad "no such machine" bcast --model cray --slaves 4
bad "no such parameter" alltoall --algorithm mixed:k=3 --model sp2 --slaves 4
bad "half a model" bcast --model a=3 --slaves 4
bad "a model of no group" bcast --model sp2
bad "a time-out without a unit" bcast --timeout 3
bad "a pause without a unit" bcast --pause 3
bad "a pause before there was time" bcast --pause -3ms
bad "too long a pause" bcast --pause 2s
check "too long a pause: how long may it be" err_says '--pause 2s: .*at most 1s'
bad "a pause that others would take for silence" bcast --pause 60ms --timeout 100ms
bad "a picture of two kinds" bcast --slaves 2,3 --plot x.svg
bad "no folder for the results" bcast --csv none/x.csv --slaves 2
bad "no folder for the table" bcast --tune -o none/x --slaves 2
bad "no such route" bcast --route express
bad "the route of threads" bcast --route daemon --transport local
bad "the route of a model" bcast --route daemon --model sp2 --slaves 4
bad "the group library of threads" bcast --group-library --transport local
bad "the order of a broadcast" bcast --ordered
bad "an algorithm that does not keep the order" reduce --ordered \
    --algorithm reduce.rabenseifner --model sp2 --slaves 4
bad "the group library in order" reduce --ordered --group-library
bad "no option" bcast --fast
check "nothing was started for these" no_pvmd

# --- tuning, between threads
run -t 120 coll-bench bcast --tune -o table --transport local --slaves 4 \
    --sizes 8B,4KiB,256KiB --repeat 10 --json
same "tune: exit status" "$rc" 0
check "tune: the table has rules for 4" grep -q '^rule bcast any 4 ' table
check "tune: and for 2" grep -q '^rule bcast any 2 ' table
check "tune: up to any size" grep -q '^rule bcast any 4 max ' table
cp table before
export NOWFARM_ENCODING=xdr # which is for tasks
run -t 120 coll-bench barrier --tune -o table --transport local --slaves 4 \
    --repeat 10
unset NOWFARM_ENCODING
same "tuning more: exit status" "$rc" 0
same "tuning more keeps the other rules" "$(grep '^rule bcast' table)" \
    "$(grep '^rule bcast' before)"
check "tuning more adds some" grep -q '^rule barrier any 4 ' table
check "nothing between threads is converted" grep -q '^encoding raw' table
same "what stays needs no word" "$(err_lines)" 0
same "tuning more goes by the model of the other rules" \
    "$(grep -E '^(date|delta|share_us|piece|combine) ' table)" \
    "$(grep -E '^(date|delta|share_us|piece|combine) ' before)"
cp table before
run -t 120 coll-bench bcast --tune -o table --transport local --slaves 2 --repeat 10 \
    --sizes 8B
same "tuning fewer members: exit status" "$rc" 0
same "tuning fewer members keeps the rules for more" "$(grep '^rule bcast any 4 ' table)" \
    "$(grep '^rule bcast any 4 ' before)"
same "tuning fewer members goes by the model of more" "$(grep '^piece ' table)" \
    "$(grep '^piece ' before)"
same "tuning fewer members: one size, one rule" \
    "$(grep '^rule bcast any 2 ' table | cut -d ' ' -f 1-5)" "rule bcast any 2 max"
# of another version, under a right checksum
sed '/^end /d; s/^library .*/library 0.0.1/' table > older
read -ra crc < <(gzip -c older | tail -c 8 | od -An -tu1 -N4)
printf 'end %02x%02x%02x%02x\n' "${crc[3]}" "${crc[2]}" "${crc[1]}" "${crc[0]}" >> older
run -t 120 coll-bench barrier --tune -o older --transport local --slaves 2 --repeat 10
same "tuning into a table of another version: exit status" "$rc" 0
same "tuning into a table of another version: one line" "$(err_lines)" 1
check "tuning into a table of another version: is told" \
    err_says 'older: tuned by version 0\.0\.1: its rules do not stay$'
same "rules of another version do not stay" "$(grep -c '^rule bcast' older)" 0
check "but those found now are there" grep -q '^rule barrier any 2 ' older
cp table before
run -t 120 coll-bench scan --tune -o table --transport local --slaves 4 --repeat 10 \
    --sizes 8B,4KiB
same "tuning a scan: exit status" "$rc" 0
check "tuning a scan: for operators that commute" \
    grep -q '^rule scan commutative 4 ' table
check "tuning a scan: for no others" [ "$(grep -c ordered table)" = 0 ]
run -t 120 coll-bench all --tune --ordered -o table --transport local --slaves 4 \
    --repeat 10 --sizes 8B
same "tuning in order: exit status" "$rc" 0
for op in reduce allreduce reduce_scatter scan exscan; do
    check "tuning in order: the table has rules for $op" \
        grep -q "^rule $op ordered 4 " table
done
check "tuning in order keeps rules for operators that commute" \
    grep -q '^rule scan commutative 4 ' table
same "tuning in order keeps the other rules" "$(grep '^rule bcast' table)" \
    "$(grep '^rule bcast' before)"
run coll-bench scan --ordered --table table --transport local --slaves 4 \
    --sizes 8B,4KiB --repeat 1 --json
same "with that table, in order: its algorithms" "$(rows algorithm | tr '\n' ' ')" \
    "$(for bytes in 8 4096; do
        awk -v m=$bytes '$1 == "rule" && $2 == "scan" && $3 == "ordered" &&
            $4 == 4 && ($5 == "max" || m <= $5) {print $6; exit}' table
    done | tr '\n' ' ')"
run coll-bench bcast --table table --transport local --slaves 4 \
    --sizes 8B,4KiB,256KiB --repeat 1 --json
same "with the table: exit status" "$rc" 0
same "with the table: that is where the model is from" "$(json model.source)" table
same "with the table: its algorithms" "$(rows algorithm | tr '\n' ' ')" \
    "$(for bytes in 8 4096 262144; do
        awk -v m=$bytes '$1 == "rule" && $2 == "bcast" && $4 == 4 &&
            ($5 == "max" || m <= $5) {print $6; exit}' table
    done | tr '\n' ' ')"
sed 's/^rule bcast any 4 max .*/rule bcast any 4 max bcast.flat 77/' table > damaged
run coll-bench bcast --table damaged --transport local --slaves 4 --sizes 8B \
    --repeat 1 --json
same "a damaged table: exit status" "$rc" 0
same "a damaged table: the model is measured" "$(json model.source)" measured
same "a damaged table: one line" "$(err_lines)" 1
check "a damaged table: with its name" err_says 'damaged: .*going by the model'
run coll-bench bcast --table missing --transport local --slaves 2 --sizes 8B \
    --repeat 1
same "no table: exit status" "$rc" 0
check "no table: is told" err_says 'missing: No such file'

# what is no table is not replaced by one
seq 1 10 > numbers
echo "nowfarm-collectives.table is what to read" > notes
cp numbers nowfarm-collectives.table
cp numbers numbers.before
tune=(coll-bench barrier --tune --transport local --slaves 2 --repeat 10)
for file in numbers notes nowfarm-collectives.table; do
    if [ $file = nowfarm-collectives.table ]; then
        run "${tune[@]}"
    else
        run "${tune[@]}" -o $file
    fi
    refused 2 "tuning into $file"
    check "tuning into $file: why" err_says "$file: line 1: not a table"
done
check "tuning into numbers: they stay" cmp numbers numbers.before
check "tuning by default: as before" cmp nowfarm-collectives.table numbers.before
check "tuning into notes: they stay" grep -q "what to read" notes
: > empty
run "${tune[@]}" -o empty
same "tuning into an empty file: exit status" "$rc" 0
check "tuning into an empty file: a table" grep -q '^rule barrier any 2 ' empty
sed 's/^delta .*/delta x/' empty > torn
run "${tune[@]}" -o torn
same "tuning into a damaged table: exit status" "$rc" 0
check "tuning into a damaged table: is told" err_says 'torn: .*; written anew$'
check "tuning into a damaged table: a table" grep -q '^end ' torn
rm -f nowfarm-collectives.table

if command -v gnuplot > /dev/null; then
    run coll-bench bcast --algorithm all --transport local --slaves 3 --repeat 1 \
        --sizes 8B,4KiB --plot size.svg --csv size.csv
    same "plot: exit status" "$rc" 0
    check "plot: a picture" grep -q '<svg' size.svg
    run coll-bench bcast --model t3e --slaves 2,4,8,16 --sizes 64KiB --plot p.svg
    same "plot against P: exit status" "$rc" 0
    check "plot against P: a picture" grep -q '<svg' p.svg
    run coll-bench alltoall --algorithm all --transport local --slaves 8 --repeat 1 \
        --sizes 8B,4KiB --plot ways.svg
    for label in dh dh:shape=2x4 mixed:radices=2x4; do
        same "plot of an all-to-all: a line is alltoall.$label" \
            "$(grep -c ">alltoall.$label<" ways.svg)" 1
    done
fi

# --- tasks
grep -q '^#define HAVE_PVM3 1' "$top_builddir/config.h" || finish
run -t 120 coll-bench all --algorithm all --slaves 5 --sizes 8B,40000B --repeat 2 --json
same "pvm: exit status" "$rc" 0
check "pvm: stdout is one JSON object" only_json
has_all "pvm"
same "pvm: transport" "$(json transport)" pvm
run -t 120 coll-bench all --ordered --algorithm all --slaves 5 --sizes 8B,40000B \
    --repeat 2 --json
in_order "ordered, pvm"
check "pvm: nothing is left of the members" wait_until 5 no_slaves
check "pvm: nor of the virtual machine" wait_until 5 no_pvmd
for op in $ops; do
    run coll-bench "$op" --slaves 5 --sizes 64B,8KiB --repeat 2 --json
    same "pvm, $op: exit status" "$rc" 0
    at_least "pvm, $op: results" "$(rows median_us | wc -l)" 1
done
run coll-bench bcast --slaves 3 --repeat 2
same "pvm, for people: exit status" "$rc" 0
check "pvm, for people: model" grep -q '^# T(m) = ' out
check "pvm, for people: a line a size" \
    [ "$(grep -c '^bcast\..*(auto)' out)" = 5 ]
same "a file with no use of this host is turned down" "$(
    echo no-such-host-$$ > hosts
    run coll-bench bcast --hosts hosts
    echo "$rc")" 3

# --- by the pvmds
run coll-bench bcast --slaves 3 --repeat 2 --json
same "no route is asked for: the model is of direct ones" "$(json model.route)" direct
run coll-bench bcast --slaves 3 --repeat 2 --route daemon --json
same "--route daemon: exit status" "$rc" 0
same "--route daemon: the model is of that" "$(json model.route)" daemon
same "--route daemon: nothing to complain of" "$(err_lines)" 0
NOWFARM_ROUTE=daemon run coll-bench bcast --slaves 3 --repeat 2 --json
same "so the environment may want it" "$(json model.route)" daemon
NOWFARM_ROUTE=daemon run coll-bench bcast --slaves 3 --repeat 2 --route direct --json
same "which gives way to --route direct" "$(json model.route)" direct
run coll-bench bcast --slaves 3 --repeat 2 --sizes 8B --route direct
check "--route direct: for people" grep -q '^# T(m) = .*; route direct$' out
for route in direct daemon; do
    op=bcast
    [ $route = direct ] || op=barrier
    run -t 120 coll-bench $op --tune -o routes --slaves 3 --sizes 8B --repeat 10 \
        --route $route
    same "tune by $route: exit status" "$rc" 0
    same "tune by $route: the table says so" "$(grep '^route' routes)" "route $route"
done
same "rules for the other route do not stay" "$(grep -c '^rule bcast' routes)" 0
check "rules for the other route: that they go is told" \
    err_says 'routes: tuned for messages by the direct route: its rules do not stay$'
# tuned raw, then in XDR: not one table
cp routes encodings
for op in bcast barrier; do
    NOWFARM_ENCODING=xdr run -t 120 coll-bench $op --tune -o encodings --slaves 3 \
        --sizes 8B --repeat 10 --route daemon
    same "tune $op in XDR: exit status" "$rc" 0
    same "tune $op in XDR: the table says so" "$(grep '^encoding' encodings)" "encoding xdr"
    check "tune $op in XDR: rules for it" grep -q "^rule $op any 3 " encodings
    if [ $op = bcast ]; then
        same "rules found raw do not stay" "$(grep -c '^rule barrier' encodings)" 0
        same "rules found raw do not stay: one line" "$(err_lines)" 1
        check "rules found raw: that they go is told" \
            err_says 'encodings: tuned for data sent as they are: its rules do not stay$'
    else
        check "rules found in XDR stay" grep -q '^rule bcast any 3 ' encodings
        same "rules found in XDR stay without a word" "$(err_lines)" 0
    fi
done
run coll-bench barrier --slaves 3 --repeat 1 --table routes
check "a table of the other route is told" err_says 'routes: tuned .*by the daemons'
run coll-bench barrier --slaves 3 --repeat 1 --table routes --route daemon
same "one of this route is not" "$(err_lines)" 0
# one member asks for no direct routes, as if it could have none
cat > poor << 'EOF'
#!/bin/sh
if mkdir "${0%/*}/first"; then export NOWFARM_ROUTE=daemon; fi 2> /dev/null
exec "$NF_SLAVE" "$@"
EOF
chmod +x poor
export NF_SLAVE
PVM_EXPORT=NF_SLAVE NOWFARM_SLAVE_PROGRAM=$work/poor run coll-bench bcast \
    --slaves 3 --repeat 2 --json
same "a member without routes: exit status" "$rc" 0
same "a member without routes: the model is the worse" "$(json model.route)" daemon
check "a member without routes: is told" err_says '[12] of 3 pairs of members have no'
check "by the pvmds: the virtual machine ends" wait_until 5 no_pvmd

# --- PVM's group library beside it
if [ -x "${PVM_ROOT:-/usr/lib/pvm3}/lib/pvmgs" ] &&
    grep -q -- '-lgpvm3' "$top_builddir/Makefile"; then
    run coll-bench all --group-library --slaves 4 --sizes 8B,40000B --repeat 2 --json
    same "libgpvm3: exit status" "$rc" 0
    same "libgpvm3: what it has" "$(rows op > o; rows libgpvm3_us > u
        paste o u | awk '$2 != "null" {print $1}' | uniq | sort | tr '\n' ' ')" \
        "barrier bcast gather reduce scatter "
    same "libgpvm3: each call's time" \
        "$(rows libgpvm3_samples_us | tr -cd ',\n[' | sort | uniq -c | xargs)" "12 [ 9 [,"
    check "libgpvm3: the members end" wait_until 5 no_slaves
    check "libgpvm3: so do its server and the virtual machine" \
        wait_until 5 no_pvmd
    same "libgpvm3: nothing is left" "$(our_pids pvmgs)" ""
    # the series alone takes more than the second that one call may take, and one
    run -t 240 coll-bench reduce --group-library --slaves 2 --sizes 2MiB --repeat 1000 \
        --timeout 1s
    same "libgpvm3: a series may take longer than the time-out" "$rc" 0
fi

# --- a member that dies, or stops
for signal in KILL STOP; do
    start coll-bench bcast --slaves 5 --sizes 1MiB --repeat 1000 --timeout 2s
    check "a member to be $signal: all run" wait_until 20 some_slaves 4
    sleep 2
    victim=$(slave_pids | head -n 1)
    kill -$signal "$victim"
    from_ms=$(now_ms)
    await 20
    same "a member $signal: exit status" "$rc" 1
    at_most "a member $signal: in time" $(($(now_ms) - from_ms)) $((8000 * slow)) ms
    check "a member $signal: is named" err_says 'rank [1-4] on '
    check "a member $signal: the others end" wait_until 10 no_slaves
    check "a member $signal: so does the virtual machine" wait_until 10 no_pvmd
done

# --- signals
for signal in INT TERM; do
    start coll-bench bcast --slaves 4 --sizes 1MiB --repeat 1000
    check "to be sent $signal: all run" wait_until 20 some_slaves 3
    sleep 1
    kill -$signal "$pid"
    await 10
    same "$signal: exit status" "$rc" 130
    check "$signal: the members end" wait_until 10 no_slaves
    check "$signal: so does the virtual machine" wait_until 10 no_pvmd
done

# --- a signal, the first one, while a member has not come
printf '#!/bin/sh\nexec sleep 60\n' > sleeper
chmod +x sleeper
some_sleep() { [ -n "$(our_pids sleep)" ]; }
seq 100 > numbers
for signal in INT TERM; do
    for command in "coll-bench bcast" "prefix numbers"; do
        # shellcheck disable=SC2086
        NOWFARM_SLAVE_PROGRAM=$work/sleeper start $command --slaves 3
        check "$command waits for members" wait_until 20 some_sleep
        sleep 1
        kill -$signal "$pid"
        from_ms=$(now_ms)
        await 20
        at_most "$command, $signal: in time" $(($(now_ms) - from_ms)) \
            $((2000 * slow)) ms
        same "$command, $signal: exit status" "$rc" 130
        same "$command, $signal: one line" "$(cat err)" "nowfarm: interrupted"
        check "$command, $signal: the virtual machine ends" wait_until 10 no_pvmd
    done
done

# --- the command itself is killed
start coll-bench bcast --slaves 4 --sizes 1MiB --repeat 1000
check "to be killed: all run" wait_until 20 some_slaves 3
sleep 1
kill -KILL "$pid"
await 5
check "killed: the members end" wait_until 10 no_slaves
check "killed: so does the virtual machine" wait_until 15 no_pvmd

# --- no program for the members
NOWFARM_SLAVE_PROGRAM=/nowhere run coll-bench bcast --slaves 2
refused 3 "no program for the members"
finish
