# shellcheck shell=bash
# setup.sh - what check.sh and demo.sh have in common; sourced, in the top
# folder of the source.  Needs Debian's packages only; asks nothing but, of an
# ordinary user and if packages are missing, the password for sudo.

say() { printf '%s\n' "== $*"; }

# sudo asks on the terminal itself, whatever standard input is.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# What the lists name and is not installed, on one line.
missing_packages() { # LIST...
    local package missing=
    # shellcheck disable=SC2013
    for package in $(sed 's/#.*//' "$@"); do
        dpkg-query -W -f '${Status}\n' "$package" 2> /dev/null |
            grep -q '^install ok installed$' || missing="$missing $package"
    done
    echo "${missing# }"
}

# If something is to be installed, get sudo's leave now: later on the output goes
# to a log, where nobody sees why the script waits.
ask_for_sudo() { # LIST...
    local missing
    [ "$(id -u)" != 0 ] && command -v dpkg-query > /dev/null || return 0
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if ! command -v sudo > /dev/null; then
        echo "${0##*/}: there is no sudo; install as root: $missing" >&2
        return 1
    fi
    sudo -n true 2> /dev/null < /dev/null && return
    if ! { : < /dev/tty; } 2> /dev/null; then
        echo "${0##*/}: sudo wants a password and there is no terminal" \
            "to ask for it; install as root: $missing" >&2
        return 1
    fi
    say "sudo asks for your password, to install $missing"
    sudo -v && return
    echo "${0##*/}: sudo refused; install as root: $missing" >&2
    return 1
}

# Install what .ci/packages or the named lists have and is missing; touch apt only
# then.
install_packages() { # [LIST...]
    local missing
    [ $# -gt 0 ] || set -- .ci/packages
    if ! command -v dpkg-query > /dev/null; then
        say "not a Debian system: install the like of $* by hand"
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    say "installing $missing"
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

# configure refuses a folder beside a source that was configured in place, and
# its objects would be taken for those of the folder.
tell_of_distclean() {
    [ ! -f config.status ] ||
        say "a build in the source folder is in the way: make distclean removes it"
}

generate_configure() {
    if [ -f Makefile ] && [ -f config.status ]; then
        make -s distclean || return
    fi
    rm -f config.status # also of a configure that was stopped
    if [ ! -x configure ] || [ ! -f Makefile.in ] ||
        [ configure.ac -nt configure ]; then
        autoreconf -fi
    fi
}

# configure_in BUILD [OPTION...]
#
# libtool, a shell script, runs for each object and each link: dash takes two
# thirds of the time that bash takes, which configure would prefer.
configure_in() {
    local build=$1 shell
    shift
    mkdir -p "$build" || return
    [ -f "$build/Makefile" ] && [ -f "$build/config.status" ] && return
    shell=$(command -v dash) && export CONFIG_SHELL="${CONFIG_SHELL:-$shell}"
    (cd "$build" && ../configure --prefix="$PWD/_inst" --enable-werror "$@")
}

make_in() { # BUILD [TARGET...]
    local build=$1
    shift
    make -C "$build" -j "$(nproc)" "$@"
}

# What demo.sh shows and check.sh checks.
product="run matmul --n 320 --policy presend:td=auto --slaves 4 --verify"
multiply_in() { # BUILD
    # shellcheck disable=SC2086
    timeout -k 10 120 "$1/apps/nowfarm/nowfarm" $product < /dev/null
}
