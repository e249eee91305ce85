#!/bin/bash
# emulate.sh - the same world live and simulated: `nowfarm run --emulate` over
# both transports on this host, beside the simulator's makespan.  A 5 % limit
# on their difference is the goal.
#
#   [UNITS=320] [REPEATS=5] [UNIT_US=33000] [TRANSPORTS='local pvm'] \
#       [POLICIES='send auto'] [WORLDS='NAME:BLOCKING:SPEEDS ...'] emulate.sh
. "${0%/*}/bench-lib.sh"
units=${UNITS:-320}
unit_us=${UNIT_US:-33000}
transports=${TRANSPORTS:-local pvm}
case $transports in *pvm*) need_pvm ;; esac

# worlds: name, blocking, speeds
worlds='equal:no:1/1/1/1 blocking:yes:1/1/1/1 mixed:no:1/1/0.5/0.25'
worlds=${WORLDS:-$worlds}
policies='send presend:td=30ms presend:td=0ms presend-round:td=20ms auto gss'
policies=${POLICIES:-$policies}
wire_us=$((unit_us * 10 / 330))
master_us=$((unit_us * 9 / 330))

# platform BLOCKING SPEEDS: what the simulator reads
platform() {
    local blocking=false
    [ "$1" = yes ] && blocking=true
    printf '{"units": %d, "slaves": 4, "cost": %d, "net": "bus",' \
        "$units" "$unit_us"
    printf ' "ts": [0, %d], "tr": [0, %d],' $wire_us $wire_us
    printf ' "o_send": [0, %d], "o_recv": [0, %d], "blocking": %s,' \
        $master_us $master_us $blocking
    printf ' "speed": [%s]}\n' "$(tr / , <<< "$2" |
        sed 's/0\.25/"1\/4"/g; s/0\.5/"1\/2"/g')"
}
# emulation BLOCKING SPEEDS: what --emulate reads
emulation() {
    printf 'unit=%dus,wire=0+%dus,send=0+%dus,blocking=%s,speeds=%s' \
        "$unit_us" $wire_us $master_us "$1" "$2"
}

echo quit | timeout 20 pvm > /dev/null 2>&1 # one virtual machine for all
machine
echo "# $units units of $unit_us us, wire $wire_us us a unit, master" \
    "$master_us us a unit each way, 4 slaves"
printf '%-10s %-24s %10s' world policy simulated
for transport in $transports; do
    printf '  %18s %7s' "$transport" ratio
done
echo
worst=1
for world in $worlds; do
    IFS=: read -r name blocking speeds <<< "$world"
    platform "$blocking" "$speeds" > "$work/world.json"
    for policy in $policies; do
        policy=${policy//30ms/$((unit_us * 10 / 11))us}
        policy=${policy//20ms/$((unit_us * 20 / 33))us}
        simulated=$(sim_makespan "$work/world.json" "$policy") || exit 1
        printf '%-10s %-24s %10.3f' "$name" "$policy" "$simulated"
        for transport in $transports; do
            : > "$work/live"
            for _ in $(seq "$repeats"); do
                job matmul --n "$units" --transport "$transport" --slaves 4 \
                    --policy "$policy" --quiet \
                    --emulate "$(emulation "$blocking" "$speeds")"
                json makespan_s >> "$work/live"
            done
            ratio=$(calc "printf(\"%.4f\", $(median "$work/live") / $simulated)")
            printf '  %10.3f (%5s) %7s' "$(median "$work/live")" \
                "$(spread "$work/live")" "$ratio"
            worst=$(calc "d = $ratio - 1; w = $worst - 1;
                print (d * d > w * w ? $ratio : $worst)")
        done
        echo
    done
done
echo "# farthest from 1: $worst (goal: 0.95 to 1.05)"
