#!/bin/bash
# sim.sh - simulations of many units on many slaves: time and memory of the
# process.  Limits to compare with: 10 s and 2048 MiB for 10^6 units on 10^4
# slaves.
#
#   [SIZES="100000/1000 1000000/10000"] [POLICIES="send fac2 auto"]
#   [NETS="links bus hub far"] sim.sh
. "${0%/*}/bench-lib.sh"
: "${SIZES:=100000/1000 1000000/10000}" "${POLICIES:=send fac2 auto}"
: "${NETS:=links bus hub far}" # far: links of 1 s one way, costs that vary

repeats=1 # nothing random but the machine
machine
printf '%9s %7s %6s %-16s %9s %9s %6s %11s\n' units slaves net policy seconds \
    "cpu s" MiB "us a chunk"
for size in $SIZES; do
    for net in $NETS; do
        what='"cost": {"distribution": "uniform", "low": 50000, "high": 150000},
 "net": "'$net'"'
        [ "$net" != far ] || what='"net": "links", "prop": 1000000,
 "cost": {"distribution": "exponential", "mean": 100000}'
        # a unit is 0.1 s, so that the master is busy most of the time
        cat > "$work/p.json" << EOF
{"units": ${size%/*}, "slaves": ${size#*/},
 $what, "ts": 4, "tr": 4, "o_send": 2, "o_recv": 2}
EOF
        for policy in $POLICIES; do
            "$NF" chunks "$policy" --units 1 --slaves 1 > "$work/out" 2>&1 || {
                echo "# $policy is not known"
                continue
            }
            start=$(now_ms)
            "$maxrss" "$work/usage" "$NF" sim farm --json \
                --platform "$work/p.json" --policy "$policy" > "$work/out" ||
                exit 1
            took_ms=$(($(now_ms) - start))
            read -r kib cpu_ms < "$work/usage"
            printf '%9d %7d %6s %-16s %9.2f %9.2f %6.0f %11.2f\n' \
                "${size%/*}" "${size#*/}" "$net" "$policy" \
                "$(calc "print $took_ms / 1000")" \
                "$(calc "print $cpu_ms / 1000")" \
                "$(calc "print $kib / 1024")" \
                "$(calc "print 2000 * $cpu_ms / $(json messages)")"
        done
    done
done
