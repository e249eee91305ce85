#!/bin/bash
# A slave program of another version is refused, in one line.
. "${0%/*}/lib.sh"
need_pvm

version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' \
    "$top_builddir/config.h")
last=${version: -1}
if [ "$last" = 9 ]; then other=${version%?}8; else other=${version%?}9; fi

# A build tree of our own, with a slave in which the version is patched.
mkdir -p "$work/tree/apps/nowfarm" "$work/tree/slave"
cp "$NF" "$work/tree/apps/nowfarm/nowfarm"
# shellcheck disable=SC2001
sed "s/$(sed 's/\./\\./g' <<< "$version")/$other/g" "$NF_SLAVE" \
    > "$work/tree/slave/nowfarm-slave"
chmod +x "$work/tree/slave/nowfarm-slave"
check "the patched slave differs" eval '! cmp -s "$NF_SLAVE" \
    "$work/tree/slave/nowfarm-slave"'
NF=$work/tree/apps/nowfarm/nowfarm

run -t 30 run synth --units 20 --slaves 2 --json
same "exit status" "$rc" 3
same "one line on stderr" "$(err_lines)" 1
check "both versions are named" eval 'err_says "$version" && err_says "$other"'
check "no unit was computed" eval '! [ "$(json units)" = 20 ] || out_empty'
check "no slave is left" wait_until 5 no_slaves

gone=$work/tree/gone/nowfarm-slave
run -t 30 run synth --units 20 --slaves 2 --json --slave-program "$gone"
same "no slave program: exit status" "$rc" 3
check "no slave program: named" err_says nowfarm-slave

cp "$NF_SLAVE" "$work/tree/slave/nowfarm-slave"
run -t 30 run synth --units 20 --slaves 2 --verify --json
job_verified "the right version, from the same place"
finish
