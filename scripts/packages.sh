# Read by demo and check: installs the Debian packages that the build needs, where they are missing.
# apt-get runs as root, through sudo where the user is not root; other systems are told what to install.

say() { printf '\n==> %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

build_packages="gcc g++ meson ninja-build pkg-config python3 clang-19 llvm-19-dev libzstd-dev liblz4-dev"
check_packages="$build_packages libclang-rt-19-dev lld-19 libcmocka-dev libmpfr-dev libopenblas-dev"

# need_packages NAME...
need_packages() {
	missing=
	command -v dpkg-query >/dev/null 2>&1 || {
		printf 'This is not a Debian system: make sure that the counterparts of these are installed:\n  %s\n' "$*"
		return 0
	}
	for package; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	say "Installing$missing"
	as_root=
	[ "$(id -u)" = 0 ] || { command -v sudo >/dev/null 2>&1 || die "not root and no sudo: install$missing"; as_root=sudo; }
	# shellcheck disable=SC2086  # the lists are lists
	$as_root apt-get update -qq &&
		$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
		die "apt-get could not install$missing"
}

# configure FOLDER [MESON OPTION...]: sets a build folder up once; later calls keep it
configure() {
	folder=$1
	shift
	[ -f "$folder/build.ninja" ] || meson setup "$folder" "$@" >"$folder.log" 2>&1 || {
		cat "$folder.log" >&2
		die "meson setup $folder failed"
	}
	rm -f "$folder.log"
}
