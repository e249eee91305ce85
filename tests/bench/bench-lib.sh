# shellcheck shell=bash
# bench-lib.sh - what the benchmarks have in common; builds on integ/lib.sh.
# Both sides of a ratio are always measured in one run, in turn, and medians
# are compared: on a busy machine only the ratio means anything.
. "${0%/*}/../integ/lib.sh"
repeats=${REPEATS:-5}

# median FILE: of the numbers in it, one a line
median() {
    sort -g "$1" | awk '{v[NR] = $1}
        END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}
# spread FILE: (largest - smallest) / median, in percent
spread() {
    sort -g "$1" | awk '{v[NR] = $1} END {
        m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
        printf("%.0f%%", (m > 0 ? 100 * (v[NR] - v[1]) / m : 0))}'
}
# job ARGS...: `nowfarm run ARGS --json`, which must succeed
job() {
    run -t 600 run "$@" --json
    [ "$rc" = 0 ] && return
    echo "nowfarm run $* failed with exit status $rc:" >&2
    cat "$work/err" >&2
    exit 1
}
# sim_makespan FILE POLICY: the makespan on that platform, in seconds
sim_makespan() {
    "$NF" sim farm --platform "$1" --policy "$2" --json > "$work/simulated" &&
        "$jsonget" "$work/simulated" makespan_s
}
calc() { awk "BEGIN {$1}"; }
# auto_lines FILE.csv: for each size a line of auto, then one of each algorithm
# with segments, median, its ratio to auto's, and auto's verdict: it is within 10 % of the
# best, or not above the middle half of its times; a tie if it is neither, but took the
# best itself, in as many segments.
# FILE as coll-bench --algorithm all --csv writes it
auto_lines() {
    sort -t , -k 3,3n -k 10,10g "$1" | awk -F, '
        function finish(    i, good) {
            if (auto == "")
                return
            good = auto <= 1.1 * us[1] || auto <= q3[1]
            printf("auto: %-14s %9s  %-26s %9.1f us  %6.3f x the best  %s\n",
                op, bytes, taken, auto, auto / us[1],
                good ? "met" : taken == name[1] ? "tie" : "missed")
            for (i = 1; i <= n; i++)
                printf("  %-37s %-9s %9.1f us  %6.3f  [%.1f %.1f]%s\n",
                    name[i], "", us[i], us[i] / auto, q1[i], q3[i],
                    auto >= q1[i] && auto <= q3[i] ? "  auto is inside" : "")
        }
        BEGIN { bytes = "none" }
        $3 !~ /^[0-9]+$/ { next }
        $3 != bytes { finish(); bytes = $3; n = 0; auto = "" }
        { op = $1; label = $4 ($5 > 1 ? " k=" $5 : "") }
        $6 == 1 { auto = $10; taken = label; next }
        { name[++n] = label; us[n] = $10; q1[n] = $9; q3[n] = $11 }
        END { finish() }'
}
# is_met GOALS AUTOS FAILURES: of goals and of what was taken by itself some was met and
# nothing missed, and no run failed
is_met() {
    ! grep -q ' missed$' "$1" "$2" && grep -q ' met$' "$1" "$2" && [ ! -s "$3" ]
}
has_mpi() { # openmpi, or mpich
    command -v "mpicc.$1" > /dev/null && command -v "mpirun.$1" > /dev/null
}
machine() {
    echo "# $(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo |
        head -n 1), Linux $(uname -r), load $(cut -d' ' -f1 /proc/loadavg)," \
        "$repeats repeats, medians (spread)"
}
# goal TEXT MS MOST: is that time below the goal?  goals_met ends the script.
missed=0
goal() {
    if [ -n "$2" ] && awk "BEGIN {exit !($2 < $3)}"; then
        echo "goal: $1: $2 ms, below $3: met"
    else
        echo "goal: $1: ${2:-not to be had} ms, below $3: MISSED"
        missed=$((missed + 1))
    fi
}
goals_met() { exit $((missed > 0 ? 1 : 0)); }
