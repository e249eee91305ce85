# shellcheck shell=bash
# setup.sh - what check.sh and demo.sh have in common; sourced, in the top
# folder of the source.  Needs Debian's packages only; asks nothing.

say() { printf '%s\n' "== $*"; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# Install what .ci/packages or the named list has and is missing; touch apt only
# then.
install_packages() { # [LIST]
    local package missing=
    if ! command -v dpkg-query > /dev/null; then
        say "not a Debian system: install the like of ${1:-.ci/packages} by hand"
        return 0
    fi
    # shellcheck disable=SC2013
    for package in $(sed 's/#.*//' "${1:-.ci/packages}"); do
        dpkg-query -W -f '${Status}\n' "$package" 2> /dev/null |
            grep -q '^install ok installed$' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    apt_install $missing || {
        as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
            apt_install $missing
    }
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy \
        --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" < /dev/null
}

# PVM wants to know where it lives, and refuses root unless told otherwise.
prepare_pvm() {
    if [ -z "${PVM_ROOT:-}" ] && [ -d /usr/lib/pvm3 ]; then
        export PVM_ROOT=/usr/lib/pvm3
    fi
    if [ "$(id -u)" = 0 ] && [ -z "${PVM_ALLOW_ROOT:-}" ]; then
        say "running as root: setting PVM_ALLOW_ROOT=1, or pvmd refuses"
        export PVM_ALLOW_ROOT=1
    fi
}

generate_configure() {
    if [ -f config.status ]; then
        say "the source folder is configured itself: make distclean there"
        make -s distclean || return
    fi
    if [ ! -x configure ] || [ ! -f Makefile.in ] ||
        [ configure.ac -nt configure ]; then
        autoreconf -fi
    fi
}

# configure_in BUILD [OPTION...]
configure_in() {
    local build=$1
    shift
    mkdir -p "$build" || return
    [ -f "$build/Makefile" ] && [ -f "$build/config.status" ] && return
    (cd "$build" && ../configure --prefix="$PWD/_inst" --enable-werror "$@")
}

make_in() { # BUILD [TARGET...]
    local build=$1
    shift
    make -C "$build" -j "$(nproc)" "$@"
}
