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
# in sources: names of people, more or less
sed -n 's/^ *source: //p' "$work/plans" |
    grep -oE '[A-Z][^ ,;.&0-9]{4,}' | sed "s/'s$//" | grep -v '^MPICH$' |
    sort -u > "$work/people"
for file in names params fields algorithms people; do
    [ -s "$work/$file" ] || { echo "nothing found in $file"; exit 99; }
done
[ -n "$apps" ] || { echo "no applications found"; exit 99; }

# check ROOT: print what is wrong in ROOT/doc and its links; status 1 if
# anything is
check() {
    (
        cd "$1" || exit 99
        bad=0
        wrong() {
            echo "$*"
            bad=1
        }
        if [ -x "$nowfarm_fft" ]; then
            for option in $(options_in "$work/fft"); do
                grep -q -- "Fl -$option\b" doc/nowfarm-fft.1 ||
                    grep -qx -- "$option" "$work/options-run" ||
                    wrong "nowfarm-fft.1: --$option is missing"
            done
            grep -q '^## fft\b' doc/user-guide.md ||
                wrong "user-guide.md: application fft is missing"
        fi
        section doc/nowfarm.1 SYNOPSIS > "$work/synopsis"
        for command in $commands; do
            grep -Eq "^\.Cm $command( |$)" "$work/synopsis" ||
                wrong "nowfarm.1, SYNOPSIS: $command is missing"
            section doc/nowfarm.1 "nowfarm $command" > "$work/section"
            [ -s "$work/section" ] ||
                wrong "nowfarm.1 has no subsection 'nowfarm $command'"
            for option in $(options_in "$work/help-$command"); do
                case $option in
                help | usage | socket) continue ;; # are told once for all
                esac
                grep -q -- "Fl -$option\b\( \|$\)" "$work/section" ||
                    wrong "nowfarm.1, $command: --$option is missing"
            done
        done
        options_in "$work"/help-* > "$work/options"
        for option in $(grep -oh -- 'Fl -[a-z][a-z-]*' doc/nowfarm.1 |
            sed 's/Fl -//' | sort -u); do
            [ "$option" = version ] || grep -qx -- "$option" "$work/options" ||
                wrong "nowfarm.1: there is no option --$option"
        done
        for option in $(options_in "$work/help-daemon"); do
            grep -q -- "Fl -$option\b" doc/nowfarmd.8 ||
                wrong "nowfarmd.8: --$option is missing"
        done
        for app in $apps; do
            grep -q "Cm $app\b" doc/nowfarm.1 ||
                wrong "nowfarm.1: application $app is missing"
            grep -q "^## $app\b" doc/user-guide.md ||
                wrong "user-guide.md: application $app is missing"
        done
        section doc/nowfarm.1 POLICIES > "$work/section"
        while read -r name; do
            grep -q "Cm $name\b" "$work/section" ||
                wrong "nowfarm.1, POLICIES: $name is missing"
            grep -q "^| [^|]*\`$name\`" doc/user-guide.md ||
                wrong "user-guide.md: policy $name is in no table"
        done < "$work/names"
        while read -r name; do
            grep -q "Cm $name\b" "$work/section" ||
                wrong "nowfarm.1, POLICIES: parameter $name is missing"
            grep -q "^|.*\`$name\`.*|" doc/user-guide.md ||
                wrong "user-guide.md: parameter $name is in no table"
        done < "$work/params"
        section doc/nowfarm.1 'JOB REPORT' > "$work/section"
        while read -r name; do
            grep -Eq "^\.(It )?Va .*\b$name\b|^\.Va $name\b" \
                "$work/section" ||
                wrong "nowfarm.1, JOB REPORT: field $name is missing"
        done < "$work/fields"
        for name in $(sed -n 's/^ *CFG_[A-Z]*("\([a-z_]*\)".*/\1/p' \
            "$top_srcdir/master/settings.c"); do
            grep -q "^\.It Cm $name\b" doc/nowfarm.conf.5 ||
                wrong "nowfarm.conf.5: setting $name is missing"
            grep -q "^#*$name = " "$top_srcdir/conf/nowfarm.conf" ||
                wrong "conf/nowfarm.conf: setting $name is missing"
        done
        for name in $(cd "$top_srcdir" && grep -rhoE 'getenv\("[A-Z_]+"\)' \
            common master slave apps --include='*.c' |
            sed 's/.*"\(.*\)".*/\1/' | sort -u); do
            grep -q "^| [^|]*\`$name\`" doc/user-guide.md ||
                wrong "user-guide.md: variable $name is in no table"
        done
        library || bad=1
        algorithms || bad=1
        links || bad=1
        exit $bad
    )
}

# library: the public headers and what they declare
library() {
    local bad=0 name header
    while read -r name; do
        grep -Eqh "^\.(Fn|Fo|It Fn) (.*[ ,])?$name( |$)" doc/nf_*.3 || {
            echo "nf_run.3, nf_group.3: $name() is missing"
            bad=1
        }
    done < include/nowfarm.sym
    # members of structures that are functions: the user's part
    for name in $(sed -n 's/^ .*(\*\([a-z_]*\))(.*/\1/p' include/nowfarm.h) \
        gather combine_by; do
        grep -Eq "^\.(It )?Fa (.*[ >])?$name( |$)" doc/nf_run.3 || {
            echo "nf_run.3: $name is missing"
            bad=1
        }
    done
    for header in include/*.h; do
        for name in README.md doc/architecture.md doc/user-guide.md; do
            grep -q "${header##*/}" "$name" || {
                echo "$name: ${header##*/} is missing"
                bad=1
            }
        done
    done
    for name in doc/*.md; do
        case $name in
        doc/reproduction-*) ;;
        *) sed '1,/^## Reading on/d' README.md | grep -q "($name)" || {
            echo "README.md, Reading on: $name is missing"
            bad=1
        } ;;
        esac
    done
    for name in doc/*.[1-8]; do
        name=${name#doc/}
        sed '1,/^## Reading on/d' README.md | tr '\n' ' ' |
            grep -q "[ ,]${name%.*}(${name##*.})" || {
            echo "README.md, Reading on: ${name%.*}(${name##*.}) is missing"
            bad=1
        }
    done
    return $bad
}

# algorithms: those of collective operations that are named exist, or are
# formulas of the report; where they are from is in the references
algorithms() {
    local bad=0 name ops
    ops=$(sed 's/\..*//' "$work/algorithms" | sort -u | tr '\n' '|')
    for name in $(grep -ohE "\b(${ops%|})\.[a-z][a-z0-9_.]*[a-z0-9]" \
        include/*.h README.md CHANGELOG.md doc/*.[1-8] doc/*.md | sort -u); do
        case $name in
        *.h | *.c | *.sh | *.md | *.svg | bcast.stride) continue ;; # a file, or an example
        esac
        grep -qxF -- "$name" "$work/algorithms" || {
            echo "there is no algorithm $name"
            bad=1
        }
    done
    while read -r name; do
        grep -q -- "$name" doc/references.md || {
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

# links: in the current folder
links() {
    local bad=0 file link target anchor
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
            else
                target=$(dirname "$file")/$target
            fi
            if [ ! -e "$target" ]; then
                echo "$file: $link leads nowhere"
                bad=1
            elif [ -n "$anchor" ] &&
                ! anchors "$target" | grep -qx -- "${anchor#\#}"; then
                echo "$file: $link: no such heading"
                bad=1
            fi
        done < <(grep -oE '\]\([^) ]+\)' "$file" | sed 's/^](//; s/)$//')
    done
    return $bad
}

# A copy, to be spoilt; as it is it must be accepted, or nothing is proved.
status=0
mkdir "$work/tree"
cp -RL "$top_srcdir"/*.md "$top_srcdir/LICENSE" "$top_srcdir/doc" \
    "$top_srcdir/include" "$top_srcdir/apps" "$top_srcdir/common" \
    "$top_srcdir/conf" "$top_srcdir/master" "$top_srcdir/tests" "$work/tree"
chmod -R u+w "$work/tree"
check "$work/tree" > "$work/said" || {
    cat "$work/said"
    status=1
}
# tried FILE SED: documentation changed like this must be refused
tried() {
    sed -i "$2" "$work/tree/$1"
    if cmp -s "$top_srcdir/$1" "$work/tree/$1"; then
        echo "the checker is broken: $1 did not change by $2"
        status=1
    elif check "$work/tree" > /dev/null; then
        echo "the checker is broken: it accepts $1 after $2"
        status=1
    fi
    cat "$top_srcdir/$1" > "$work/tree/$1"
}
tried doc/nowfarm.1 '/^\.It Fl -unit-timeout/d'
tried doc/nowfarm.1 '/^\.Ss nowfarm chunks/d'
tried doc/nowfarm.1 's/^\.It Fl -verify/&-everything/'
tried doc/nowfarm.1 's/lost_slaves/missing_slaves/'
tried doc/nowfarmd.8 's/Fl -runner/Fl -walker/'
tried doc/nowfarm.conf.5 's/keep_vm/keep/'
tried doc/user-guide.md 's/`gss`/`self`/g'
tried doc/user-guide.md '/^| `PVM_TMP`/d'
tried doc/user-guide.md 's/](nowfarmd.8)/](nowfarmd.9)/'
tried doc/nowfarm.1 '/^\.Cm coll-bench$/d'
tried include/nowfarm_group.h 's/reduce\.chain\.fd/reduce.chains/'
[ ! -x "$nowfarm_fft" ] || tried doc/nowfarm-fft.1 '/Fl -inverse/d'
tried doc/nf_group.3 's/nf_exscan/nf_escan/'
tried doc/nf_run.3 '/combine_by/d'
tried doc/references.md 's/Manber/Mabner/'
tried README.md '/nowfarm_group\.h/d'
tried README.md 's/(doc.adding-a-collective.md)/(doc)/'
tried README.md 's/nf_group(3)/nf_group/'
tried README.md '$a [nothing](doc/user-guide.md#nothing)'
exit $status
