#!/bin/bash
# What `make bench-network`, tests/bench/plan.sh, `make bench-alltoall` and `make
# bench-coll` say of their goals, by numbers that are made up: each goal is met and missed
# by turns, and missed if its numbers are not there.
. "${0%/*}/../bench/bench-lib.sh"
cd "$work" || exit 99

# --- broadcasts by a measured network
judge=$top_srcdir/tests/bench/network-goals.sh

# made_up: all goals are just met, of 1 KiB and 64 KiB
made_up() {
    cat > trees << '.'
1024	star	4	1	500	100
1024	opt	8	1	900	1000
1024	crl	8	1	1236	1030
1024	binomial	8	1	900	1000
65536	chain	4	1	9000	1000
65536	chain	8	9	9000	9800
65536	crl	8	4	8100	10000
65536	binomial	8	1	9000	15000
65536	binomial-bits	8	1	9000	15100
.
    cat > groups << '.'
1024 bcast.tree 1 1000 1250
1024 bcast.binomial 1 - 1300
65536 bcast.tree 8 12000 10000
65536 bcast.binomial 1 20000 15000
65536 bcast.chain 8 9000 9750
.
    probe_s=59.5 flags=()
}
judged() { # TEXT EXIT_STATUS MISSED...: and so many goals, and these missed
    local text=$1 status=$2 want
    shift 2
    bash "$judge" "${flags[@]}" $probe_s "${sizes:-1024,65536}" trees groups > out 2> err
    same "$text: exit status" "$?" "$status"
    same "$text: missed" "$(grep -c ' MISSED$' out)" $#
    for want in "$@"; do
        check "$text: \"$want\"" grep -q "^goal: $want.* MISSED\$" out
    done
    same "$text: and said so" "$(tail -n 1 out)" "# goals: $# missed"
}
# with FILE FROM TO TEXT MISSED...: one number is another
with() {
    made_up
    grep -q "$2" "$1" || fail "no line $2 in $1"
    sed -i "s/$2/$3/" "$1"
    judged "${@:4:1}" 1 "${@:5}"
}
made_up
judged "all met" 0
same "all met: all judged" "$(grep -c '^goal: .* met$' out)" 11
check "all met: the fastest is named" grep -q '^goal: crl of 65536 .* (chain) ' out
check "all met: who sent to few hosts only is no yardstick" \
    grep -q '^goal: crl of 1024 .* (opt) .* 1.030 ' out
probe_s=60.5
judged "a slow probe" 1 probing
with trees '1236	1030$' '1236	1031' "a faster tree" "crl of 1024 bytes / the fastest"
with trees '9000	15000$' '9000	14990' "a fast binomial tree" "binomial / crl of 65536"
with trees '8100	10000$' '7900	10000' "too low a prediction" "crl of 65536 bytes, predicted"
with trees '1236	1030$' '1237	1030' "too high a prediction" "crl of 1024 bytes, predicted"
with groups 9750 9700 "a faster broadcast" "bcast.tree of 65536 bytes / the fastest"
with groups 15000 14000 "a fast binomial broadcast" "binomial / bcast.tree of 65536"
with groups 12000 12001 "a prediction for groups" "bcast.tree of 65536 bytes, predicted"
with groups 'tree 8 12000' 'tree 8 -' "no prediction" "bcast.tree of 65536 bytes, predicted"
# what was not measured is missed
with groups bcast.binomial other "no binomial" "binomial / bcast.tree of 65536"
with trees '^65536	crl' '65536	other' "no crl" "crl of 65536 bytes / the" \
    "binomial / crl of 65536" "crl of 65536 bytes, pre"
made_up
: > trees
judged "no trees" 1 "crl of 1024 bytes / the" "crl of 1024 bytes, pre" \
    "crl of 65536 bytes / the" "binomial / crl of 65536" "crl of 65536 bytes, pre"
flags=(-g)
judged "trees were not asked for" 0
made_up
sizes=1024,1048576
judged "a size that is not there" 1 "crl of 1048576 bytes / the" \
    "binomial / crl of 1048576" "crl of 1048576 bytes, pre" \
    "bcast.tree of 1048576 bytes / the" "binomial / bcast.tree of 1048576" \
    "bcast.tree of 1048576 bytes, pre"
bash "$judge" 5 1024, trees groups > out 2> err
same "no list of sizes: exit status" "$?" 2
bash "$judge" 5 1024 trees none > out 2> err
same "no file of broadcasts: exit status" "$?" 2

# --- what planning costs
planned() { # TEXT FROM TO MISSED...: one number is another
    local text=$1 want from=$2 to=$3
    shift 3
    cat > plans << '.'
 hosts      bytes  segments  equal links   different     curves
    32       1024  one           0.39 ms      0.56 ms      0.64 ms
    32    1048576  many          1.16 ms     10.36 ms     49.82 ms
   100       1024  one           0.95 ms      9.94 ms      9.39 ms
   100    1048576  many          4.89 ms     63.74 ms     48.61 ms
  1000       1024  one          12.23 ms    191.24 ms         -
  1000    1048576  many         58.74 ms    993.70 ms         -
    32    1048576  all              -            -       132.07 ms
.
    grep -q -- "$from" plans || fail "no $from in plans"
    sed -i "s/$from/$to/" plans
    bash "$top_srcdir/tests/bench/plan.sh" -j plans > out 2> err
    same "$text: exit status" "$?" $(($# > 0))
    same "$text: met" "$(grep -c '^goal: .*: met$' out)" $((3 - $#))
    for want in "$@"; do
        check "$text: \"$want\"" grep -q "^goal: $want.*: MISSED\$" out
    done
}
planned "plans, all met" 49.82 49.99
planned "slow plans by curves" 49.82 50.01 "32 hosts, 1 MiB: 50.01 ms"
planned "slow plans of 100 hosts by curves" 9.39 10.39 "100 hosts, one segment: 10.39 ms"
planned "slow plans where links differ" 9.94 10 "100 hosts, one segment"
planned "slow plans of 1000 hosts" 993.70 1993.70 "1000 hosts, up to 1 MiB"
planned "no plans by curves" "  49.82 ms" "   -    " "32 hosts, 1 MiB: not to be had"
planned "no plans of 1000 hosts" "^  1000" "  1001" "1000 hosts, up to 1 MiB: not to be had"

# --- all-to-all beside MPI and plain TCP
judge=$top_srcdir/tests/bench/alltoall-goals.sh flags=() world=8:100mbit
sizes=1024,65536,1048576
exchanged() { # TEXT FROM TO EXIT_STATUS BECAME GOAL...: one number is another
    local text=$1 status=$4 became=$5 want
    {
        for bytes in 1024 65536 1048576; do
            printf '8:100mbit\t%s\n' "tcp	tcp	$bytes	$bytes" \
                "openmpi	alltoall	$bytes	$((9 * bytes))" \
                "mpich	alltoall	$bytes	$((8 * bytes))"
        done
        # of three samples the median counts
        printf '8:100mbit\tours\talltoall\t%s\n' "1024	1" "1024	12288" "1024	99999" \
            "65536	524288" "1048576	8388608"
    } > samples
    grep -q "$2" samples || fail "no $2 in samples"
    sed -i "s/$2/$3/" samples
    shift 5
    bash "$judge" "${flags[@]}" $world "$sizes" samples > out 2> err
    same "$text: exit status" "$?" "$status"
    same "$text: $became" "$(grep -c "^goal: .* $became\$" out)" $#
    for want in "$@"; do
        check "$text: \"$want\"" grep -q "^goal: alltoall 8:100mbit *$want.* $became\$" out
    done
}
mpi1='1024  at most 1.5 ' mpi64='65536  at most 1 ' mpi1024='1048576  at most 1  *x MPI'
tcp='1048576  at most 1.15  x (P-1) L'
# 8 of 7 L are 1.143
exchanged "exchanges, all met" 99999 99999 0 met "$mpi1" "$mpi64" "$mpi1024" "$tcp"
exchanged "slow exchanges of 1 KiB" 12288 12289 1 missed "$mpi1"
# 1.004 is more than 1
exchanged "slow exchanges of 64 KiB" 'ours	alltoall	65536	524288' \
    'ours	alltoall	65536	526386' 1 missed "$mpi64"
exchanged "a faster MPICH" 'mpich	alltoall	1048576	8388608' \
    'mpich	alltoall	1048576	8380000' 1 missed "$mpi1024"
exchanged "a faster Open MPI" 'openmpi	alltoall	65536	589824' \
    'openmpi	alltoall	65536	524287' 1 missed "$mpi64"
exchanged "a faster link" 'tcp	1048576	1048576' 'tcp	1048576	1042000' 1 missed "$tcp"
# what was not measured is not reached, unless there is nothing to measure
exchanged "no plain TCP" 'tcp	1048576' 'tcp	1048577' 1 open "$tcp"
exchanged "no exchanges of ours" 'ours' 'theirs' 1 open "$mpi1" "$mpi64" "$mpi1024" "$tcp"
check "no exchanges of ours: and said so" grep -qx '# 4 open, for want of numbers: not reached' out
exchanged "no MPI has run" 'openmpi\|mpich' 'lost' 1 open "$mpi1" "$mpi64" "$mpi1024"
flags=(-n)
exchanged "no MPI is installed" 'openmpi\|mpich' 'none' 0 open "$mpi1" "$mpi64" "$mpi1024"
check "no MPI is installed: and said so" \
    grep -qx '# 3 open, as neither Open MPI nor MPICH is installed: not judged' out
exchanged "no MPI, and no plain TCP" 'tcp\|openmpi\|mpich' 'none' 1 open "$mpi1" "$mpi64" \
    "$mpi1024" "$tcp"
check "no MPI, and no plain TCP: both are said" \
    grep -qx '# 1 open, for want of numbers: not reached' out
sizes=1024
exchanged "no MPI, and nothing else to judge" 'openmpi\|mpich' 'none' 1 open "$mpi1"
flags=() sizes=1024,
exchanged "no list of sizes of exchanges" ours ours 2 met

# --- what is taken by itself, beside every algorithm: coll.sh -a
taken() { # TEXT AUTO_US VERDICT [ALGORITHM [K]]
    local name=alltoall.${4:-mixed} k=${5:-1}
    cat > all.csv << .
operation,ranks,bytes,algorithm,k,auto,runs,min,q1,median,q3,max
alltoall,8,64,$name,$k,1,20,0,0,$2,0,0
alltoall,8,64,alltoall.bruck,1,0,20,0,90,100,105,0
alltoall,8,64,alltoall.burst,1,0,20,0,180,200,300,0
.
    auto_lines all.csv > autos
    check "$1" grep -q "^auto: alltoall .* 64  $name .* $3\$" autos
}
: > none
: > no_failures
taken "10 % more than the best" 110 met
check "some was met: that will do" is_met none autos no_failures
taken "more than 10 % more" 110.04 missed
check "some was missed: that will not do" eval '! is_met none autos no_failures'
check "nothing was judged: that will not do" eval '! is_met none none no_failures'
taken "the best itself, measured once more" 105 met bruck
taken "the best itself, slower than it was" 130 tie bruck
check "nothing but a tie: that will not do" eval '! is_met none autos no_failures'
taken "the best, but in other segments" 130 missed bruck 2
taken "not the best itself" 130 missed burst
taken "less than the best" 99 met
echo all-alltoall > failures
check "a run failed: that will not do" eval '! is_met none autos failures'

# --- collectives beside plain TCP, MPI and libgpvm3: coll.sh
. "$top_srcdir/tests/bench/coll-goals.sh"
mkdir collectives
# sampled SIDE OP BYTES US...: of three samples the median counts
sampled() { printf '%s\n' "${@:4}" > "collectives/$1.$2.$3"; }
# collective HOSTS:RATE OP BYTES: plain TCP takes 1000 us, the better MPI 2000, and
# libgpvm3 as long as that
collective() {
    hosts=${1%:*} rate=${1#*:} ops=$2 sizes=$3 here=collectives
    rm -f collectives/*
    sampled tcp tcp "$3" 1 1000 9999
    sampled openmpi "$2" "$3" 2400
    sampled mpich "$2" "$3" 2000
    sampled group "$2" "$3" 2000
}
# became US YARDSTICK: what is said of that goal if ours takes so long
became() {
    sampled ours "$ops" "$sizes" 1 "$1" 99999999
    goal_lines | awk -v y="$2" '$(NF - 2) == y { print $NF }'
}
# reached HOSTS:RATE OP BYTES YARDSTICK MOST_US
reached() {
    collective "$1" "$2" "$3"
    same "$1: $2 of $3 bytes, beside $4" "$(became "$5" "$4")" met
    same "$1: $2 of $3 bytes, slow beside $4" \
        "$(became "$(calc "print $5 + 0.1")" "$4")" missed
}
reached 5:100mbit bcast 1048576 limit 1080
reached 8:100mbit bcast 1048576 limit 1120
reached 5:100mbit bcast 65536 limit 1300
reached 8:100mbit bcast 65536 limit 1500
reached 5:1gbit bcast 1048576 limit 1400
reached 5:none bcast 1048576 openmpi 6000 # not the better one
reached 5:100mbit allreduce 1048576 limit 2000 # of 2 x 4/5
reached 8:100mbit allreduce 1048576 limit 2187.5 # of 2 x 7/8
reached 5:100mbit gather 1048576 limit 4200 # of 4 transfers
reached 8:100mbit gather 1048576 limit 7350
for some in 5:100mbit 8:100mbit; do
    reached $some bcast 1048576 MPI 700
    reached $some bcast 65536 MPI 1200
    reached $some allreduce 1048576 MPI 1200
    reached $some scan 1048576 MPI 1000
    for op in bcast reduce allreduce reduce_scatter scan exscan gather scatter allgather \
        alltoall; do
        reached $some $op 8 MPI 5000
    done
    collective $some barrier 0
    sizes=8,65536 # once, whatever the sizes
    sampled ours barrier 0 5001
    same "$some: a slow barrier" "$(goal_lines | grep -c ' MPI .* missed$')" 1
done
for some in 5:100mbit 8:none local:8; do
    reached ${some/local:8/8:local} barrier 0 libgpvm3 2000
    for op in bcast reduce gather scatter; do
        reached ${some/local:8/8:local} $op 65536 libgpvm3 2000
    done
done
reached 8:local bcast 1048576 libgpvm3 666
reached 8:100mbit reduce 1048576 libgpvm3 666
sampled pvmds reduce 1048576 1000 # by the pvmds it is faster
same "the faster libgpvm3 counts" "$(became 334 libgpvm3)" missed
sampled pvmds reduce 1048576 9000
same "also if it is the direct one" "$(became 666 libgpvm3)" met
rm collectives/group.*
same "or the only one" "$(became 2997 libgpvm3) $(became 2998 libgpvm3)" "met missed"
collective 5:100mbit gather 65536
sampled group gather 65536 1900 2000 2000 2050 2100
same "not above the middle half of the times of libgpvm3" "$(became 2000 libgpvm3) \
$(became 2050 libgpvm3) $(became 2051 libgpvm3)" "met tie missed"
collective 8:100mbit bcast 1048576
sampled group bcast 1048576 1000 2000 3000
same "no tie with a third of them" "$(became 667 libgpvm3)" missed
collective 5:100mbit scan 1048576
rm collectives/openmpi.* collectives/mpich.*
same "no MPI to compare with" "$(became 1 MPI)" open
rm collectives/ours.*
same "nothing to compare" "$(goal_lines | grep -c ' open$')" 1
collective 5:100mbit gather 1048576
sampled ours gather 1048576 1
goal_lines > goals
check "goals of gather, all met" is_met goals none no_failures
# left SIDE...: the yardsticks whose goals are open though they, of these sides, are there
left() {
    local there=" $* "
    has() { [[ $there == *" $1 "* ]]; }
    goal_lines > goals
    unmeasured goals | awk '{print $(NF - 2)}' | xargs
}
same "all is measured" "$(left tcp openmpi mpich group)" ""
rm collectives/tcp.* collectives/group.*
same "no times of plain TCP and of libgpvm3" "$(left tcp openmpi mpich group)" "limit libgpvm3"
same "these are not there" "$(left openmpi mpich)" ""
collective 5:none bcast 1048576
sampled ours bcast 1048576 1
rm collectives/openmpi.*
same "no times of Open MPI" "$(left tcp openmpi mpich group)" openmpi
same "Open MPI is not there" "$(left tcp mpich group)" ""
collective 5:100mbit scan 1048576
sampled ours scan 1048576 1
rm collectives/openmpi.*
same "MPICH will do" "$(left tcp openmpi mpich group)" ""
rm collectives/mpich.*
same "no times of MPICH" "$(left tcp mpich group)" MPI

# --- both parts of `make bench-alltoall`, measured by a coll.sh that is not
mkdir bench integ bin
cp "$top_srcdir"/tests/bench/{alltoall,alltoall-goals,coll-goals,bench-lib}.sh bench
printf '%s\n' ". '$top_srcdir/tests/integ/lib.sh'" 'need_pvm() { :; }' > integ/lib.sh
cat > bench/coll.sh << '.'
echo "$*" >> "$FAKE/calls"
while [ $# -gt 0 ]; do
    [ "$1" != -d ] || {
        cp "$FAKE/samples" "$2"
        [ -z "$FAILED" ] || echo "# runs that failed: $FAILED"
        exit "$MPI_STATUS"
    }
    shift
done
exit "$GRID_STATUS"
.
printf '#!/bin/sh\n' | tee bin/mpicc.openmpi > bin/mpirun.openmpi
chmod +x bin/*
benched() { # TEXT MPI_STATUS GRID_STATUS EXIT_STATUS CALLS
    rm -f calls
    PATH=$PWD/bin:$PATH FAKE=$PWD MPI_STATUS=$2 GRID_STATUS=$3 WORLDS=$world \
        bash bench/alltoall.sh > out 2> err
    same "$1: exit status" "$?" "$4"
    same "$1: parts" "$(wc -l < calls)" "$5"
}
sizes=1024,65536,1048576
exchanged "for both parts" ours ours 0 met "$mpi1" "$mpi64" "$mpi1024" "$tcp"
benched "both parts met" 0 0 0 2
check "both parts met: the grid is judged" eval 'tail -n 1 calls | grep -q -- " -e$"'
# comes_after OPTION: what the last call has behind it, a word a line
comes_after() { tail -n 1 calls | sed "s/.* $1 \([^ ]*\).*/\1/" | tr , '\n'; }
comes_after -s > judged_at
comes_after -T > tuned_at
check "the grid is judged from 64 bytes to 1 MiB" eval \
    '[ "$(head -n 1 judged_at) $(tail -n 1 judged_at)" = "64 1048576" ]'
check "and tuned" [ "$(wc -l < tuned_at)" -gt 4 ]
check "but nowhere where it is judged" eval '! grep -qxFf tuned_at judged_at'
benched "missed in the grid" 0 1 1 2
FAILED='1 mpich 2 tcp' benched "runs of others failed" 0 0 0 2
FAILED='1 mpich 1 ours' benched "a run of ours failed" 0 0 1 2
FAILED='1 tune-alltoall' benched "was not tuned" 0 0 1 2
benched "no lab" 77 0 77 1
benched "no lab for the grid" 0 77 77 2
exchanged "for both parts, missed" 12288 12289 1 missed "$mpi1"
benched "missed in the first part, and the grid is measured" 0 0 1 2
finish
