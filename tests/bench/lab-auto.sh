#!/bin/bash
# lab-auto.sh - the adaptive pacer live, on four workstations and a master that
# share the hub of a lab: how much it recovers of what Send leaves above the
# fluid bound when speeds differ, how near it is to the best fixed t_D when they
# do not, and how far every makespan is from the simulated one.
#
#   [UNITS=320] [REPEATS=5] [RATE=100mbit] lab-auto.sh
. "${0%/*}/bench-lib.sh"
need_pvm
units=${UNITS:-320}
rate=${RATE:-100mbit}
emulation=unit=33ms,send=0.9ms,wire=1ms,blocking=no
fixed="20ms 25ms 30ms 32ms 33ms 34ms 36ms"

export NOWFARM_LAB=nf-$$
reason=$("$NF" lab check 2>&1) || skip "${reason##*$'\n'}"
test_cleanup() { "$NF" lab down 2> /dev/null; }
"$NF" lab hub 4 "$rate" > /dev/null || exit 1
"$NF" lab hosts > "$work/hosts" || exit 1

# live SPEEDS POLICY: one run on ws1 to ws4; its makespan to live.SPEEDS.POLICY
live() {
    if ! timeout 300 "$NF" lab exec ws0 "$NF" run synth --units "$units" \
        --hosts "$work/hosts" --slaves 4 --slots 1 --policy "$2" --quiet \
        --emulate "$emulation,speeds=$1" --verify --json \
        > "$work/out" 2> "$work/err" || [ "$(json verified)" != true ]; then
        echo "policy $2 failed:" >&2
        cat "$work/err" >&2
        exit 1
    fi
    json makespan_s >> "$work/live.${1//\//-}.$2"
}
# platform SPEEDS: the same world for the simulator
platform() {
    printf '{"units": %d, "slaves": 4, "cost": 33000, "net": "bus",' "$units"
    printf ' "ts": 1000, "tr": 1000, "o_send": 900, "o_recv": 900,'
    printf ' "speed": [%s]}\n' "$(tr / , <<< "$1" |
        sed 's/0\.25/"1\/4"/g; s/0\.5/"1\/2"/g')"
}
# table SPEEDS POLICY...
table() {
    local speeds=$1 policy file ratio
    shift
    platform "$speeds" > "$work/world.json"
    printf '\n# speeds %s\n%-22s %10s %18s %8s\n' "$speeds" policy simulated \
        "live (spread)" ratio
    for policy; do
        file=$work/live.${speeds//\//-}.$policy
        sim_makespan "$work/world.json" "$policy" > "$work/s" || exit 1
        ratio=$(calc "printf(\"%.4f\", $(median "$file") / $(cat "$work/s"))")
        printf '%-22s %10.3f %10.3f (%5s) %8s\n' "$policy" "$(cat "$work/s")" \
            "$(median "$file")" "$(spread "$file")" "$ratio"
        echo "$ratio" >> "$work/ratios"
    done
}
of() { median "$work/live.${1//\//-}.$2"; }

machine
echo "# $units units, $emulation, hub of $rate, 4 slaves on 4 workstations"
equal=1/1/1/1 mixed=1/1/0.5/0.25
for _ in $(seq "$repeats"); do
    for policy in send gss auto; do
        live $mixed $policy
        live $equal $policy
    done
    for td in $fixed; do
        live $equal "presend:td=$td"
    done
done
# shellcheck disable=SC2046,SC2086
table $equal send gss auto $(printf 'presend:td=%s ' $fixed)
best=$(for td in $fixed; do of $equal "presend:td=$td"; done | sort -g | head -n 1)
calc "printf(\"auto / best fixed td: %.4f (goal: at most 1.01)\\n\",
    $(of $equal auto) / $best)"
table $mixed send gss auto
bound=$(calc "print $units * 0.033 / 2.75")
send=$(of $mixed send)
share=$(calc "print 100 * ($send - $(of $mixed auto)) / ($send - $bound)")
printf 'auto recovers %.0f %% of what Send leaves above the fluid bound of %s s' \
    "$share" "$bound"
echo " (goal: at least 80 %)"
sort -g "$work/ratios" | awk '{v[NR] = $1} END {
    printf("live / simulated: %s to %s (goal: 0.95 to 1.05)\n", v[1], v[NR])}'
