#!/bin/bash
# check-docs.sh - the documentation knows what the programs and the library can
# do: every option, subcommand, policy and parameter, JSON field, setting,
# environment variable and public function is where a reader looks for it,
# nothing else is, algorithms that are named exist, and links lead somewhere.
# Then the checker itself is tried on documentation that is wrong.
set -u
export LC_ALL=C
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
top_builddir=${top_builddir:-$top_srcdir/build}
nowfarm=$top_builddir/apps/nowfarm/nowfarm
nowfarmd=$top_builddir/master/nowfarmd
nowfarm_fft=$top_builddir/apps/fft/nowfarm-fft # not everywhere
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

for program in "$nowfarm" "$nowfarmd"; do
    [ -x "$program" ] || { echo "$program is not built"; exit 99; }
done

options_in() { # HELP...: the long options of help texts, one a line
    sed -n 's/^  *\(-.,\)* *--\([a-z][a-z-]*\).*/\2/p' "$@" | sort -u
}
# section FILE NAME: a section or subsection of a man page, which may be quoted
section() {
    awk -v name="$2" '
        /^\.S[hs] / { on = index(substr($0, 5), name) == 1 }
        on' "$1"
}

# What the programs say, once.
"$nowfarm" --help > "$work/help" || exit 99
commands=$(sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' "$work/help")
for command in $commands; do
    "$nowfarm" "$command" --help > "$work/help-$command" || exit 99
done
for what in farm mesh torus hnow; do
    "$nowfarm" sim $what --help >> "$work/help-sim" || exit 99
done
if [ -x "$nowfarm_fft" ]; then
    "$nowfarm_fft" --help > "$work/fft" || exit 99
    options_in "$work/help-run" > "$work/options-run"
fi
apps=$(sed -n 's/.*APP is one of: //p' "$work/help-run" | tr -d ,)
for app in $apps; do
    "$nowfarm" run "$app" --help >> "$work/help-run" || exit 99
done
"$nowfarmd" --help > "$work/help-daemon" || exit 99
"$nowfarm" policies > "$work/policies" || exit 99
# shellcheck disable=SC2016
sed -n 's/^  \([a-z][a-z-]*\)  *[^ ].*/\1/p' "$work/policies" |
    sort -u > "$work/names"
sed -n 's/^    \([A-Za-z]*\)=.*/\1/p' "$work/policies" | sort -u > "$work/params"
"$nowfarm" run synth --transport local --units 3 --fault 1:error --slaves 1 \
    --json > "$work/json" 2> /dev/null
sed -n 's/^ *"\([a-z_]*\)": .*/\1/p' "$work/json" | sort -u > "$work/fields"
"$nowfarm" plans > "$work/plans" || exit 99
sed -n 's/^\([a-z_]*\.[a-z0-9_.]*\): .*/\1/p' "$work/plans" > "$work/algorithms"
sed -n 's/^    also: //p' "$work/plans" | sed 's/, /\n/g' >> "$work/algorithms"
sort -u -o "$work/algorithms" "$work/algorithms"
# in sources: names of people, more or less
sed -n 's/^ *source: //p' "$work/plans" |
    grep -oE '[A-Z][^ ,;.&0-9]{4,}' | sed "s/'s$//" | grep -v '^MPICH$' |
    sort -u > "$work/people"
for file in names params fields algorithms people; do
    [ -s "$work/$file" ] || { echo "nothing found in $file"; exit 99; }
done
[ -n "$apps" ] || { echo "no applications found"; exit 99; }

# lacks WHAT [PREFIX]: each line of what is wanted and not there
lacks() {
    local name bad=0
    while read -r name; do
        echo "$1: ${2-}$name is missing"
        bad=1
    done
    return $bad
}
words_of() { # CHARACTERS: what stands between these, one a line
    tr "$1" '\n' | sort -u
}
quoted() { # in backquotes
    grep -o '`[^`]*`' | tr -d '`' | sort -u
}
first_columns() { # FILE: of its tables
    sed -n 's/^\(| [^|]*\)|.*/\1/p' "$1"
}

# ------------------------------------------------------------------- the parts
# Each prints what is wrong in the current folder; status 1 if anything is.

fft() {
    local bad=0
    [ -x "$nowfarm_fft" ] || return 0
    grep -oE 'Fl -[a-z][a-z-]*' doc/nowfarm-fft.1 | sed 's/Fl -//' |
        sort -u - "$work/options-run" > "$work/found"
    options_in "$work/fft" | comm -23 - "$work/found" |
        lacks nowfarm-fft.1 -- || bad=1
    grep -q '^## fft\b' doc/user-guide.md || {
        echo "user-guide.md: application fft is missing"
        bad=1
    }
    return $bad
}

commands() {
    local bad=0 command
    section doc/nowfarm.1 SYNOPSIS > "$work/synopsis"
    for command in $commands; do
        grep -Eq "^\.Cm $command( |$)" "$work/synopsis" || {
            echo "nowfarm.1, SYNOPSIS: $command is missing"
            bad=1
        }
        section doc/nowfarm.1 "nowfarm $command" > "$work/section"
        [ -s "$work/section" ] || {
            echo "nowfarm.1 has no subsection 'nowfarm $command'"
            bad=1
        }
        # what is told once for all; and what the section has
        { printf '%s\n' help usage socket &&
            grep -oE 'Fl -[a-z][a-z-]*( |$)' "$work/section" | sed 's/Fl -//; s/ $//'; } |
            sort -u > "$work/found"
        options_in "$work/help-$command" | comm -23 - "$work/found" |
            lacks "nowfarm.1, $command" -- || bad=1
    done
    return $bad
}

options() {
    local bad=0 option
    options_in "$work"/help-* > "$work/options"
    while read -r option; do
        [ "$option" = version ] && continue
        echo "nowfarm.1: there is no option --$option"
        bad=1
    done < <(grep -oh -- 'Fl -[a-z][a-z-]*' doc/nowfarm.1 | sed 's/Fl -//' | sort -u |
        comm -23 - "$work/options")
    return $bad
}

daemon() {
    grep -oE 'Fl -[a-z][a-z-]*' doc/nowfarmd.8 | sed 's/Fl -//' | sort -u > "$work/found"
    options_in "$work/help-daemon" | comm -23 - "$work/found" | lacks nowfarmd.8 --
}

applications() {
    local bad=0 app
    for app in $apps; do
        grep -q "Cm $app\b" doc/nowfarm.1 || {
            echo "nowfarm.1: application $app is missing"
            bad=1
        }
        grep -q "^## $app\b" doc/user-guide.md || {
            echo "user-guide.md: application $app is missing"
            bad=1
        }
    done
    return $bad
}

policies() {
    local bad=0
    section doc/nowfarm.1 POLICIES > "$work/section"
    # an item, which may be of several, or a line of its own
    sed -n 's/^\.It Cm //p; s/^\.Cm \([^ ]*\)$/\1/p' "$work/section" | words_of ' ,' |
        comm -23 "$work/names" - |
        lacks "nowfarm.1, POLICIES" || bad=1
    grep -o 'Cm [^ ]*' "$work/section" | sed 's/Cm //' | sort -u |
        comm -23 "$work/params" - | lacks "nowfarm.1, POLICIES" "parameter " || bad=1
    first_columns doc/user-guide.md | quoted | comm -23 "$work/names" - |
        lacks "user-guide.md, tables" "policy " || bad=1
    grep '^|' doc/user-guide.md | quoted | comm -23 "$work/params" - |
        lacks "user-guide.md, tables" "parameter " || bad=1
    return $bad
}

fields() {
    section doc/nowfarm.1 'JOB REPORT' | grep -E '^\.(It )?Va ' | words_of ' ,' |
        comm -23 "$work/fields" - | lacks "nowfarm.1, JOB REPORT" "field "
}

settings() {
    local bad=0
    sed -n 's/^ *CFG_[A-Z]*("\([a-z_]*\)".*/\1/p' "$top_srcdir/master/settings.c" |
        sort -u > "$work/settings"
    sed -n 's/^\.It Cm \([a-z_]*\).*/\1/p' doc/nowfarm.conf.5 | sort -u |
        comm -23 "$work/settings" - | lacks nowfarm.conf.5 "setting " || bad=1
    sed -n 's/^#*\([a-z_]*\) = .*/\1/p' "$top_srcdir/conf/nowfarm.conf" | sort -u |
        comm -23 "$work/settings" - | lacks conf/nowfarm.conf "setting " || bad=1
    return $bad
}

environment() {
    first_columns doc/user-guide.md | quoted > "$work/found"
    (cd "$top_srcdir" && grep -rhoE 'getenv\("[A-Z_]+"\)' common master slave apps \
        --include='*.c') | sed 's/.*"\(.*\)".*/\1/' | sort -u |
        comm -23 - "$work/found" | lacks "user-guide.md, tables" "variable "
}

# The public headers and what they declare.
library() {
    local bad=0 name header reading
    grep -Eh '^\.(Fn|Fo|It Fn) ' doc/nf_*.3 | words_of ' ,' > "$work/found"
    sort -u include/nowfarm.sym | comm -23 - "$work/found" |
        lacks "nf_run.3, nf_group.3" || bad=1
    # members of structures that are functions: the user's part
    grep -E '^\.(It )?Fa ' doc/nf_run.3 | words_of ' >' > "$work/found"
    { sed -n 's/^ .*(\*\([a-z_]*\))(.*/\1/p' include/nowfarm.h &&
        printf '%s\n' gather combine_by; } | sort -u | comm -23 - "$work/found" |
        lacks nf_run.3 || bad=1
    for header in include/*.h; do
        for name in README.md doc/architecture.md doc/user-guide.md; do
            grep -q "${header##*/}" "$name" || {
                echo "$name: ${header##*/} is missing"
                bad=1
            }
        done
    done
    reading=$(sed '1,/^## Reading on/d' README.md | tr '\n' ' ')
    for name in doc/*.md; do
        [[ $name == doc/reproduction-* || $reading == *"($name)"* ]] || {
            echo "README.md, Reading on: $name is missing"
            bad=1
        }
    done
    for name in doc/*.[1-8]; do
        name=${name#doc/}
        name="${name%.*}(${name##*.})"
        [[ $reading == *[\ ,]"$name"* ]] || {
            echo "README.md, Reading on: $name is missing"
            bad=1
        }
    done
    return $bad
}

# Those of collective operations that are named exist, or are formulas of the
# report; where they are from is in the references.
algorithms() {
    local bad=0 name ops references
    ops=$(sed 's/\..*//' "$work/algorithms" | sort -u | tr '\n' '|')
    while read -r name; do
        case $name in
        *.h | *.c | *.sh | *.md | *.svg | bcast.stride) continue ;; # a file, or an example
        esac
        echo "there is no algorithm $name"
        bad=1
    done < <(grep -ohE "\b(${ops%|})\.[a-z][a-z0-9_.]*[a-z0-9]" \
        include/*.h README.md CHANGELOG.md doc/*.[1-8] doc/*.md | sort -u |
        comm -23 - "$work/algorithms")
    references=$(< doc/references.md)
    while read -r name; do
        [[ $references == *"$name"* ]] || {
            echo "references.md: $name, a source of \`nowfarm plans', is missing"
            bad=1
        }
    done < "$work/people"
    return $bad
}

anchors() { # FILE: what can be linked to in it
    grep '^#' "$1" | sed 's/^#* //' | tr '[:upper:]' '[:lower:]' |
        sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

links() {
    local bad=0 file link target anchor
    local -A headings=()
    for file in *.md doc/*.md apps/*/*.md; do
        [ -f "$file" ] || continue
        while read -r link; do
            case $link in
            *://* | mailto:*) continue ;;
            esac
            target=${link%%#*}
            anchor=${link#"$target"}
            if [ -z "$target" ]; then
                target=$file
            elif [[ $file == */* ]]; then
                target=${file%/*}/$target
            fi
            if [ ! -e "$target" ]; then
                echo "$file: $link leads nowhere"
                bad=1
            elif [ -n "$anchor" ]; then
                [ -n "${headings[$target]-}" ] ||
                    headings[$target]=$'\n'$(anchors "$target")$'\n'
                [[ ${headings[$target]} == *$'\n'"${anchor#\#}"$'\n'* ]] || {
                    echo "$file: $link: no such heading"
                    bad=1
                }
            fi
        done < <(grep -oE '\]\([^) ]+\)' "$file" | sed 's/^](//; s/)$//')
    done
    return $bad
}

parts="fft commands options daemon applications policies fields settings environment
    library algorithms links"

# check ROOT PART...: print what is wrong in ROOT; status 1 if anything is
check() {
    (
        cd "$1" || exit 99
        shift
        bad=0
        for part in "$@"; do
            [[ " $parts " == *[[:space:]]$part[[:space:]]* ]] || {
                echo "there is no part $part"
                exit 99
            }
            $part || bad=1
        done
        exit $bad
    )
}

# A copy, to be spoilt; as it is it must be accepted, or nothing is proved.
status=0
mkdir "$work/tree"
cp -RL "$top_srcdir"/*.md "$top_srcdir/LICENSE" "$top_srcdir/doc" \
    "$top_srcdir/include" "$top_srcdir/apps" "$top_srcdir/common" \
    "$top_srcdir/conf" "$top_srcdir/master" "$top_srcdir/tests" "$work/tree"
chmod -R u+w "$work/tree"
# shellcheck disable=SC2086
check "$work/tree" $parts > "$work/said" || {
    cat "$work/said"
    status=1
}
# tried PART FILE SED: documentation changed like this must be refused by this part
tried() {
    sed -i "$3" "$work/tree/$2"
    if cmp -s "$top_srcdir/$2" "$work/tree/$2"; then
        echo "the checker is broken: $2 did not change by $3"
        status=1
    else
        check "$work/tree" "$1" > /dev/null
        [ $? = 1 ] || {
            echo "the checker is broken: it does not refuse $2 after $3"
            status=1
        }
    fi
    cat "$top_srcdir/$2" > "$work/tree/$2"
}
tried commands doc/nowfarm.1 '/^\.It Fl -unit-timeout/d'
tried commands doc/nowfarm.1 '/^\.Ss nowfarm chunks/d'
tried commands doc/nowfarm.1 '/^\.Cm coll-bench$/d'
tried options doc/nowfarm.1 's/^\.It Fl -verify/&-everything/'
tried applications doc/nowfarm.1 's/Cm matmul/Cm matadd/'
tried applications doc/user-guide.md 's/^## matmul/## matadd/'
tried fields doc/nowfarm.1 's/lost_slaves/missing_slaves/'
tried daemon doc/nowfarmd.8 's/Fl -runner/Fl -walker/'
tried settings doc/nowfarm.conf.5 's/keep_vm/keep/'
tried policies doc/nowfarm.1 's/Cm gss/Cm self/'
tried policies doc/nowfarm.1 '/^\.It Cm static/d'
tried policies doc/nowfarm.1 's/Cm sigma/Cm deviation/'
tried policies doc/user-guide.md 's/`gss`/`self`/g'
tried environment doc/user-guide.md '/^| `PVM_TMP`/d'
tried links doc/user-guide.md 's/](nowfarmd.8)/](nowfarmd.9)/'
tried links README.md '$a [nothing](doc/user-guide.md#nothing)'
tried algorithms include/nowfarm_group.h 's/reduce\.chain\.fd/reduce.chains/'
tried algorithms doc/references.md 's/Manber/Mabner/'
[ ! -x "$nowfarm_fft" ] || tried fft doc/nowfarm-fft.1 '/Fl -inverse/d'
tried library doc/nf_group.3 's/nf_exscan/nf_escan/'
tried library doc/nf_run.3 '/combine_by/d'
tried library README.md '/nowfarm_group\.h/d'
tried library README.md 's/(doc.adding-a-collective.md)/(doc)/'
tried library README.md 's/nf_group(3)/nf_group/'
exit $status
