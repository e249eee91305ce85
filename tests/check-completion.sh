#!/bin/bash
# check-completion.sh - bash offers every subcommand, application and option that
# the programs' help tells, and nothing that they do not know.
set -u
export LC_ALL=C
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
top_builddir=${top_builddir:-$top_srcdir/build}
PATH=$top_builddir/apps/nowfarm:$top_builddir/master:$PATH
for program in nowfarm nowfarmd; do
    command -v $program > /dev/null || { echo "$program is not built"; exit 99; }
done
compopt() { :; } # works while completing only
. "$top_srcdir/conf/nowfarm.bash-completion" || exit 99
bad=0 checked=0

# offered WORD...: what is offered behind these words, one a line, sorted
offered() {
    COMP_WORDS=("$@" '')
    COMP_CWORD=$#
    COMPREPLY=()
    "_$1"
    printf '%s\n' "${COMPREPLY[@]}" | sort -u
}
# help_of WORD...: the options that its help tells
help_of() {
    "$@" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--.*' |
        grep -vx -e --usage
}
# compare TEXT WANTED OFFERED: two lists with a word a line
compare() {
    checked=$((checked + 1))
    local difference
    difference=$(diff <(sort -u <<< "$2") <(sort -u <<< "$3") |
        grep '^[<>]') || return 0
    echo "$1 (< in the help, > offered):"
    echo "$difference"
    bad=1
}
# without WORD LIST: the list but for this
without() { grep -vxF -e "$1" <<< "$2"; }

commands=$(nowfarm --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p')
apps=$(nowfarm run --help | sed -n 's/.*APP is one of: //p' | tr -d , | tr ' ' '\n')
if [ "$(wc -w <<< "$commands")" -lt 20 ] || [ "$(wc -w <<< "$apps")" -lt 3 ]; then
    echo "nothing found in the help"
    exit 99
fi

compare "nowfarm" "$commands
--help
--version" "$(offered nowfarm)"
for command in $commands; do
    all=$(offered nowfarm "$command")
    case $command in
    run) want="$apps
$(help_of nowfarm run)" ;;
    submit) want="$apps
$(help_of nowfarm submit; help_of nowfarm run)" ;;
    compare) want="$apps
$(help_of nowfarm compare; without --policy "$(help_of nowfarm run)")" ;;
    sim) want="farm
mesh
torus
hnow
$(help_of nowfarm sim farm)" ;;
    *)  want=$(help_of nowfarm "$command")
        all=$(grep -- '^--' <<< "$all") # jobs, operations, verbs
        ;;
    esac
    compare "nowfarm $command" "$want" "$all"
done
for app in $apps; do
    compare "nowfarm run $app" "$(help_of nowfarm run "$app")" \
        "$(grep -- '^--' <<< "$(offered nowfarm run "$app")")"
    compare "nowfarm submit --name x $app" \
        "$(help_of nowfarm submit; help_of nowfarm run "$app")" \
        "$(grep -- '^--' <<< "$(offered nowfarm submit --name x "$app")")"
    compare "nowfarm compare $app" "$(help_of nowfarm compare
        without --policy "$(help_of nowfarm run "$app")")" \
        "$(grep -- '^--' <<< "$(offered nowfarm compare "$app")")"
done
compare "nowfarm sim hnow" "$(help_of nowfarm sim hnow)" \
    "$(offered nowfarm sim hnow)"
compare "nowfarm plan" "$(nowfarm plans |
    sed -n 's/^\([a-z_]*\)\.[a-z0-9_.]*: .*/\1/p')" \
    "$(grep -v -- '^--' <<< "$(offered nowfarm plan)")"
compare "nowfarm sim mesh" "$(help_of nowfarm sim mesh)" \
    "$(offered nowfarm sim mesh)"
compare "nowfarm sim torus" "$(help_of nowfarm sim torus)" \
    "$(offered nowfarm sim torus)"
compare "nowfarm tree" "$(nowfarm trees | sed -n 's/^\([a-z-]*\): .*/\1/p')" \
    "$(grep -v -- '^--' <<< "$(offered nowfarm tree)")"
compare "nowfarm coll-bench" "all
$(nowfarm plans | sed -n 's/^\([a-z_]*\)\.[a-z0-9_.]*: .*/\1/p'; echo exscan)" \
    "$(grep -v -- '^--' <<< "$(offered nowfarm coll-bench)")"
compare "nowfarm lab" "$(nowfarm lab --help |
    sed -n '/^  up /,/^ *-/s/^  \([a-z]*\) .*/\1/p')" \
    "$(grep -v -- '^--' <<< "$(offered nowfarm lab)")"
compare "nowfarmd" "$(help_of nowfarmd)" "$(offered nowfarmd)"

# without the program nothing is offered, and nothing is said
said=$( { PATH=/usr/bin:/bin; nowfarm() { nosuch-program; }
    nowfarmd() { nosuch-program; }; offered nowfarm run; offered nowfarmd; } 2>&1)
compare "without nowfarm" "" "$said"
echo "$checked lists compared"
exit $bad
