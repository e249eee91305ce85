#!/bin/bash
# phases.sh - jobs of several phases on 2 slaves of this machine beside the library's
# call in one thread: FFT beside FFTW, planned with the same effort, and sort beside
# qsort(); and what limits them.  All sides take turns.  4 minutes.
#
# Slaves are two processes (pvm) and two threads (local).  FFTW, and so fft with its usual
# layout, has all numbers and the result in their order; with "columns" slaves have
# neither, which spares two exchanges, so that is another problem than FFTW's.
#
#   POINTS  of the transform (default 4194304)
#   KEYS    to be sorted (default 10000000)
#   UNITS   of each (default 32 of fft, as it has by itself, 64 of sort).  Results of
#           2 MiB and more get huge pages; of the library's call counts the better time
#           with these and without
#   NOWFARM_LOANS=no  between processes pieces are sent, and not read where they are
#
# "on slaves": from data that are on the slaves to data that are on the slaves, as the
# trace has it: from the first exchange to the last, and before and behind that what
# the slot that took longest computed in the first and the last phase.  "all" is the
# makespan: also the scatter of the data before and the gather of results behind.
#
# Exit status: 1 if the library was faster than what is on slaves.
. "${0%/*}/bench-lib.sh"
need_pvm
points=${POINTS:-4194304} keys=${KEYS:-10000000}
fft_units=${UNITS:-32} sort_units=${UNITS:-64}

# times: of $work/trace, in ms: on the slaves, all, computing in the first, the middle
# and the last phases, exchanging
times() {
    awk '
        function has(key) { return match($0, "\"" key "\":-?[0-9]+") }
        function text(key,    at) {
            if (!has(key)) return ""
            at = length(key) + 3
            return substr($0, RSTART + at, RLENGTH - at)
        }
        function get(key) { return text(key) + 0 }
        # numbers of leases have up to 64 bits: as numbers they would be rounded, by mawk
        # to 6 digits, and be one
        function lease() { return text("lease") }
        NR == 1 { units = get("units") } # of all phases
        /"ev":"sent"/ {
            phase[lease()] = get("first")
            slot[lease()] = get("slave") " " get("slot")
        }
        /"ev":"result"/ {
            computed[phase[lease()] " " slot[lease()]] += get("compute_us")
        }
        /"ev":"phase_begin"/ && /"name":"exchange"/ {
            if (under_way++ == 0) { from = get("t"); if (!n++) begin = from }
        }
        /"ev":"phase_end"/ && /"name":"exchange"/ {
            if (--under_way == 0) { end = get("t"); exchanged += end - from }
        }
        /"ev":"end"/ { all = get("makespan_us") }
        END {
            each = units / (n + 1)
            for (key in computed) {
                split(key, part, " ")
                p = int(part[1] / each)
                sum[p " " part[2] " " part[3]] += computed[key]
            }
            for (key in sum) {
                split(key, part, " ")
                if (sum[key] > most[part[1]]) most[part[1]] = sum[key]
            }
            for (p = 1; p < n; p++) middle += most[p]
            print (end - begin + most[0] + most[n]) / 1000, all / 1000, most[0] / 1000,
                middle / 1000, most[n] / 1000, exchanged / 1000
        }' "$work/trace"
}
names="on_slaves all first middle last exchanged"
ours() { # NAME TRANSPORT ARGS...
    local name=$1 transport=$2 value what i=0
    shift 2
    job "$@" --slaves 2 --slots 1 --policy static --transport "$transport" \
        --trace "$work/trace"
    read -ra value < <(times)
    for what in $names; do echo "${value[i++]}" >> "$work/$name.$what"; done
}
of() { median "$work/$1.$2"; }
show_library() { # NAME COUNT LIBRARY
    printf '%-18s of %s\n' "$1" "$2"
    printf '%-18s %-20s %9.1f ms (%s)\n' "$1" "$3, one thread" \
        "$(of "$1" library)" "$(spread "$work/$1.library")"
}
show() { # NAME LIBRARY
    local library verdict
    library=$(of "$2" library)
    printf '%-18s %-20s %9.1f ms (%s)  %5.2f x library\n' "$1" \
        "2 slaves, on slaves" "$(of "$1" on_slaves)" \
        "$(spread "$work/$1.on_slaves")" \
        "$(calc "print $(of "$1" on_slaves) / $library")"
    printf '%-18s %-20s %9.1f ms (%s)  %5.2f x library\n' "$1" \
        "2 slaves, all" "$(of "$1" all)" "$(spread "$work/$1.all")" \
        "$(calc "print $(of "$1" all) / $library")"
    printf '%-18s of that: first phase %.1f, middle %.1f, last %.1f, exchanges %.1f ms; ' \
        "$1" "$(of "$1" first)" "$(of "$1" middle)" "$(of "$1" last)" \
        "$(of "$1" exchanged)"
    limit "$1"
    verdict=met
    if [ "$(calc "print ($(of "$1" on_slaves) < $library)")" = 0 ]; then
        verdict=missed
        missed=$((missed + 1))
    fi
    printf 'goal: %-18s on slaves, faster than the library: %s\n' "$1" $verdict
}
limit() { # NAME: what takes most of the time on slaves, and of all
    awk -v s="$(of "$1" on_slaves)" -v a="$(of "$1" all)" -v e="$(of "$1" exchanged)" \
        'BEGIN {
            printf("limited by %s (%.0f %%), with scatter and gather by %s (%.0f %%)\n",
                e > s - e ? "exchanging" : "computing",
                100 * (e > s - e ? e : s - e) / s,
                a - s > e && a - s > s - e ? "these" : \
                    e > s - e ? "exchanging" : "computing",
                100 * (a - s > e && a - s > s - e ? a - s : e > s - e ? e : s - e) / a)
        }'
}

machine
library() { # NAME PROGRAM COUNT
    "$top_builddir/tests/bench/$2" "$3" | awk '{print $1 * 1000}' >> "$work/$1.library"
}
has_fft=
[ ! -x "$top_builddir/tests/bench/fft_library" ] || has_fft=yes
for _ in $(seq "$repeats"); do
    if [ -n "$has_fft" ]; then
        library fft fft_library "$points"
        for transport in local pvm; do
            ours fft-$transport $transport fft --count "$points" \
                --units "$fft_units"
            ours fft-$transport-columns $transport fft --count "$points" \
                --units "$fft_units" --layout columns
        done
    fi
    library sort sort_library "$keys"
    for transport in local pvm; do
        ours sort-$transport $transport sort --count "$keys" \
            --units "$sort_units"
    done
done
if [ -n "$has_fft" ]; then
    show_library fft "$points" FFTW
    for name in fft-local fft-pvm fft-local-columns fft-pvm-columns; do
        show $name fft
    done
else
    for layout in local pvm; do
        echo "goal: fft-$layout on slaves beside FFTW: open, as there is no FFTW: not judged"
    done
fi
show_library sort "$keys" "qsort()"
for name in sort-local sort-pvm; do show $name sort; done
goals_met
