#!/bin/bash
# check-layers.sh - who includes whom.  doc/architecture.md, rule 4:
#   base <- json <- {model, wire, trace} <- {policy, coll} <- tree <- farm
#        <- net <- group <- {master, slave, sim, apps}
# pvm3.h belongs to few files, libevent to the event loops, and pure folders do
# without clocks, logs, threads and the operating system.  Judged from the
# #include lines, but for apps/quickstart, which are users' programs; then the
# checker itself is tried on trees that are wrong.
set -u
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}

# layers ROOT: print every violation; status 1 if there is one
layers() {
    (cd "$1" && find common master slave sim apps include -name '*.[ch]' \
        ! -path 'apps/quickstart/*' \
        2> /dev/null | sort | xargs awk '
function folder(path,    part, n) {
    n = split(path, part, "/")
    return part[1] == "common" && n > 2 ? part[2] : part[1]
}
function wrong(text) {
    print FILENAME ":" FNR ": " text
    bad = 1
}
BEGIN {
    split("include base json model wire trace policy coll tree farm net " \
        "group master slave sim apps", name)
    split("0 1 1.5 2 2 2 3 3 4 5 6 6.5 7 7 7 7", level)
    for (i in name)
        rank[name[i]] = level[i]
    pure = "^(model|wire|policy|coll|tree|farm)$"
    impure = "^<(time|unistd|pthread|poll|signal|fcntl|threads)\\.h>$|^<sys/"
}
FNR == 1 {
    files++
    from = folder(FILENAME)
    if (!(from in rank))
        wrong("folder " from " has no layer: give it one in check-layers.sh")
}
/^[ \t]*#[ \t]*include/ {
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "")
    sub(/[ \t]*(\/\*.*|\/\/.*)?$/, "")
    target = $0
    if (target ~ /^[<"]g?pvm3\.h/ &&
        FILENAME !~ /^common\/net\/pvm(_message|_context)?\.c$/ &&
        FILENAME != "apps/collbench/group_library.c")
        wrong("only pvm.c, pvm_message.c and pvm_context.c of common/net " \
            "may include pvm3.h")
    if (target ~ /^[<"]ev(ent|dns|http|rpc|util)?(2\/|\.h)/ &&
        FILENAME !~ /^(common\/net|master|slave)\//)
        wrong("libevent belongs to the event loops in common/net, master " \
            "and slave")
    if (from ~ pure && (target ~ impure ||
        target ~ /common\/base\/(log|clock)\.h/))
        wrong(from " is pure and may not include " target)
    if (target !~ /^"/ || target ~ /^"(config|nowfarm(_group)?)\.h"$/)
        next
    gsub(/"/, "", target)
    to = folder(target)
    if (!(to in rank))
        wrong("include by path from the root, not " target)
    else if (to != from && rank[to] >= rank[from] && rank[from] < 7)
        wrong(from " may not know " to " (" target ")")
}
END {
    if (files == 0)
        print "no source files found"
    exit (bad || files == 0)
}')
}

tree=$(mktemp -d) || exit 99
trap 'rm -rf "$tree"' EXIT
status=0
# tried REFUSED FILE LINE: is a tree in which FILE has LINE refused (1) or
# not (0)?
tried() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/$(dirname "$2")"
    printf '%s\n' "$3" > "$tree/$2"
    layers "$tree" > "$tree/out"
    if [ $(($? != 0)) -ne "$1" ]; then
        echo "the checker is broken: $2 with $3"
        status=1
    fi
}
tried 1 common/net/net_local.c '#include <pvm3.h>'
tried 1 master/x.c '# include "pvm3.h" /* why not */'
tried 0 common/net/pvm.c '#include <pvm3.h>'
tried 0 common/net/pvm_message.c '#include <pvm3.h>'
tried 0 common/net/pvm_context.c '#include <pvm3.h>'
tried 1 common/net/pvm_file.c '#include <pvm3.h>'
tried 1 common/policy/x.c '#include <event2/event.h>'
tried 0 master/x.c '#include <event2/event.h>'
tried 1 common/policy/x.c '#include "common/farm/farm.h"'
tried 1 common/policy/x.h '#include "common/coll/coll.h"'
tried 0 common/farm/x.c '#include "common/policy/policy.h"'
tried 0 common/coll/x.c '#include "common/model/model.h"'
tried 1 common/coll/x.c '#include "common/tree/tree.h"'
tried 0 common/tree/x.c '#include "common/coll/coll.h"'
tried 1 common/tree/x.c '#include "common/farm/farm.h"'
tried 0 common/net/coll_exec.c '#include "common/tree/tree.h"'
tried 1 common/base/x.c '#include "common/wire/wire.h"'
tried 1 common/net/x.c '#include "master/master.h"'
tried 1 common/net/x.c '#include "common/group/exec.h"'
tried 0 common/group/x.c '#include "common/net/mesh.h"'
tried 0 apps/nowfarm/x.c '#include "master/master.h"'
tried 1 common/farm/x.c '#include <time.h>'
tried 1 common/farm/x.c '#include "common/base/log.h"'
tried 1 common/farm/x.c '#include "farm.h"'
tried 1 apps/x.c '#include "tests/unit/nf_unit.h"'
tried 1 common/newfolder/x.c 'int x;'

layers "$top_srcdir" || status=1
exit $status
