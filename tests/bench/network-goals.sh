#!/bin/bash
# network-goals.sh - what network.sh has measured against its goals, one a line:
#
#   probe     of 8 hosts takes less than a minute
#   fastest   the planned tree takes at most 3 % more than the fastest one there is
#   binomial  from 64 KiB on a binomial tree takes at least 1.5 times as long
#   predicted the planned tree takes what the model says, within 20 %
#
#   network-goals.sh [-g] PROBE_S SIZES TREES BROADCASTS
#
# TREES has a line for each tree that bare relays sent along, "bytes tree nodes
# segments predicted_us measured_us", those of the star and the chain of few hosts
# among them; BROADCASTS one for each broadcast of a group, "bytes algorithm segments
# predicted_us measured_us".  SIZES in bytes, between commas: what is not in both
# files is a goal missed.  -g: no trees were sent along by bare relays.
#
# The exit status is 1 if a goal was missed, 2 if the arguments are none of these.
groups_only=
[ "${1:-}" != -g ] || { groups_only=yes; shift; }
if [ $# != 4 ] || ! [[ $2 =~ ^[0-9]+(,[0-9]+)*$ ]] || [ ! -r "$3" ] || [ ! -r "$4" ]; then
    echo "network-goals.sh: want [-g] PROBE_S SIZES TREES BROADCASTS" >&2
    exit 2
fi
awk -v probe_s="$1" -v sizes="$2" -v groups_only="$groups_only" -v trees="$3" '
    # GOT may be MOST; "" is what was not to be had
    function at_most(text, got, most, unit) {
        say(text, got, "at most " most unit, got != "" && got <= most)
    }
    function at_least(text, got, least, unit) {
        say(text, got, "at least " least unit, got != "" && got >= least)
    }
    function say(text, got, want, good) {
        printf("goal: %-56s %8s  %-14s  %s\n", text,
            got == "" ? "-" : sprintf("%.3f", got), want, good ? "met" : "MISSED")
        missed += !good
    }
    function ratio(a, b) {return a > 0 && b > 0 ? a / b : ""}
    function off(said, took) { # in percent, either way
        if (said <= 0 || took <= 0)
            return ""
        return 100 * (said > took ? said / took - 1 : 1 - said / took)
    }
    function judge(what, b, others) {
        at_most(what " of " b " bytes / the fastest other" others,
            ratio(us[what, b], least[what, b]), 1.03, "")
        if (b >= 65536)
            at_least("binomial / " what " of " b " bytes",
                ratio(binomial[what, b], us[what, b]), 1.5, "")
        at_most(what " of " b " bytes, predicted is off",
            off(said[what, b], us[what, b]), 20, " %")
    }
    function note(what, mine, name, b, said_us, took_us) {
        if (name == mine) {
            us[what, b] = took_us
            said[what, b] = said_us
            return
        }
        if (!((what, b) in least) || took_us < least[what, b]) {
            least[what, b] = took_us
            by[what, b] = name
        }
        if (name ~ /binomial/ && (!((what, b) in binomial) ||
                took_us < binomial[what, b]))
            binomial[what, b] = took_us
    }
    FILENAME == trees {
        if ($2 != "star" && $2 != "chain" || $3 > 4)
            note("crl", "crl", $2, $1, $5, $6)
        next
    }
    {note("bcast.tree", "bcast.tree", $2, $1, $4, $5)}
    END {
        at_most("probing, s", probe_s, 60, "")
        n = split(sizes, list, ",")
        for (i = 1; i <= n; i++) {
            if (!groups_only)
                judge("crl", list[i], " (" by["crl", list[i]] ")")
            judge("bcast.tree", list[i], " (" by["bcast.tree", list[i]] ")")
        }
        printf("# goals: %d missed\n", missed)
        exit missed > 0
    }' "$3" "$4"
