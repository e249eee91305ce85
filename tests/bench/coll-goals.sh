# shellcheck shell=bash disable=SC2154
# coll-goals.sh - what collective operations of ours may take, and what became of that;
# builds on bench-lib.sh.
#
# The world is $rate and $hosts, and $here has its samples, one a line, in
# SIDE.OP.BYTES; plain TCP is side and operation tcp, and barriers are of 0 bytes.

# HOSTS:RATE/OP/BYTES, a regular expression of all of it; yardstick; what our time may be of
# that.  Of lines with one yardstick the first counts.  Larger all-to-alls are judged by
# alltoall.sh.
coll_goals='
5:100mbit/bcast/1048576 limit 1.08
8:100mbit/bcast/1048576 limit 1.12
5:100mbit/bcast/65536 limit 1.3
8:100mbit/bcast/65536 limit 1.5
5:1gbit/bcast/1048576 limit 1.4
5:none/bcast/1048576 openmpi 2.5
[58]:100mbit/allreduce/1048576 limit 1.25
[58]:100mbit/gather/1048576 limit 1.05
[58]:100mbit/bcast/1048576 MPI 0.35
[58]:100mbit/bcast/65536 MPI 0.6
[58]:100mbit/allreduce/1048576 MPI 0.6
[58]:100mbit/scan/1048576 MPI 0.5
[58]:100mbit/[a-z_]+/8 MPI 2.5
[58]:100mbit/barrier/0 MPI 2.5
8:.*/(bcast|reduce)/1048576 libgpvm3 0.333
.*/(bcast|reduce|gather|scatter|barrier)/.* libgpvm3 1
'

# What awk knows of the samples of a world.  Times are in us, and "" if there are none.
coll_book='
    # a line of sample_lines
    function take() { sample[$1, $2, $3, ++count[$1, $2, $3]] = $4 }
    function median(side, op, bytes,    n) {
        n = count[side, op, bytes] + 0
        if (n == 0) return ""
        if (n % 2) return sample[side, op, bytes, (n + 1) / 2] + 0
        return (sample[side, op, bytes, n / 2] + sample[side, op, bytes, n / 2 + 1]) / 2
    }
    function third_quartile(side, op, bytes,    n) {
        n = count[side, op, bytes] + 0
        return n == 0 ? "" : sample[side, op, bytes, int((3 * n + 3) / 4)] + 0
    }
    # the range of the middle half, in percent of the median
    function middle_half(side, op, bytes,    n, q) {
        n = count[side, op, bytes] + 0
        if (n == 0) return "-"
        q = int((n + 3) / 4)
        return sprintf("%.0f%%", 100 * (sample[side, op, bytes, n + 1 - q] - \
            sample[side, op, bytes, q]) / median(side, op, bytes))
    }
    function least(a, b) { return a == "" ? b : b == "" ? a : a < b ? a : b }
    # what the links allow
    function limit(op, bytes,    l) {
        l = median("tcp", "tcp", bytes)
        if (l == "" || op == "barrier") return ""
        if (op == "reduce_scatter" || op == "allgather") return l * (hosts - 1) / hosts
        if (op == "allreduce") return 2 * l * (hosts - 1) / hosts
        if (op ~ /^(gather|scatter|alltoall)$/) return l * (hosts - 1)
        return l
    }
    function better_mpi(op, bytes) {
        return least(median("openmpi", op, bytes), median("mpich", op, bytes))
    }
    # the side of the PVM library that is faster
    function better_group(op, bytes,    direct, by_pvmds) {
        direct = median("group", op, bytes)
        by_pvmds = median("pvmds", op, bytes)
        return by_pvmds != "" && least(direct, by_pvmds) == by_pvmds ? "pvmds" : "group"
    }
    function ratio(a, b) {
        if (a == "" || b == "") return "-"
        return sprintf(a / b < 100 ? "%.3g" : "%.0f", a / b)
    }
    # as goals are judged by, not rounded as it is shown elsewhere: 1.004 is more than 1
    function precise(a, b) {
        return a == "" || b == "" ? "-" : sprintf("%.6f", a / b)
    }
    function verdict(got, most) {
        return got == "-" ? "open" : got + 0 <= most ? "met" : "missed"
    }
    function ms(time) { return time == "" ? "-" : sprintf("%.4g", time / 1000) }
    # points(): next_op and next_bytes for each of ops and sizes; barriers but once
    function points() {
        if (!at_op) {
            n_ops = split(ops, op_list, ",")
            n_sizes = split(sizes, size_list, ",")
            at_op = 1
        }
        if (++at_size > n_sizes || (at_size > 1 && op_list[at_op] == "barrier")) {
            at_size = 1
            at_op++
        }
        next_op = op_list[at_op]
        next_bytes = next_op == "barrier" ? 0 : size_list[at_size]
        return at_op <= n_ops
    }'
# sample_lines: "SIDE OP BYTES US", the shortest first
sample_lines() {
    local files=("$here"/*.*.*)
    [ -e "${files[0]}" ] || return 0
    awk 'FNR == 1 { n = split(FILENAME, names, "/"); split(names[n], key, ".") }
        NF { print key[1], key[2], key[3], $1 }' "${files[@]}" | sort -k4,4g
}
# by_book PROGRAM [NAME=VALUE...]: awk, with all samples of this world taken
by_book() {
    local program=$1 given=() value
    shift
    for value; do given+=(-v "$value"); done
    sample_lines | awk -v ops="$ops" -v sizes="$sizes" -v hosts="$hosts" "${given[@]}" \
        "$coll_book { take() } $program"
}

# unmeasured GOALS: the lines of those that are open though who they are beside is there,
# by `has SIDE`
unmeasured() {
    local line words
    while read -r line; do
        read -ra words <<< "$line" # goal: OP BYTES at most MOST x YARDSTICK - open
        case ${words[7]} in
        limit) has tcp ;;
        MPI) has openmpi || has mpich ;;
        openmpi) has openmpi ;;
        libgpvm3) has group ;;
        esac && echo "$line"
    done < <(grep ' open$' "$1")
}
# Two who are both as fast as the links let them be are told apart by chance alone: it is
# a tie if ours is not above the middle half of what that library takes.
goal_lines() { # one goal a line, with what became of it
    goals=$coll_goals by_book '
        function base_of(yardstick, op, bytes) {
            if (yardstick == "limit") return limit(op, bytes)
            if (yardstick == "MPI") return better_mpi(op, bytes)
            if (yardstick == "libgpvm3")
                return median(better_group(op, bytes), op, bytes)
            return median(yardstick, op, bytes)
        }
        function judge(op, bytes, yardstick, most,    ours, base, got, became) {
            ours = median("ours", op, bytes)
            base = base_of(yardstick, op, bytes)
            got = precise(ours, base)
            became = verdict(got, most)
            if (became == "missed" && yardstick == "libgpvm3" && most == 1 &&
                ours <= third_quartile(better_group(op, bytes), op, bytes))
                became = "tie"
            printf("goal: %-14s %8s  at most %-5s x %-8s  %8s  %s\n", op, bytes, most,
                yardstick, got, became)
        }
        END {
            n = split(ENVIRON["goals"], line, "\n")
            while (points()) {
                split("", judged)
                for (i = 1; i <= n; i++) {
                    if (split(line[i], word, " ") != 3 || word[2] in judged ||
                        place "/" next_op "/" next_bytes !~ "^" word[1] "$")
                        continue
                    judged[word[2]] = 1
                    judge(next_op, next_bytes, word[2], word[3])
                }
            }
        }' "place=$hosts:$rate"
}
