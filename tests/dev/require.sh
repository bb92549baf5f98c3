# Programs that the steps of `./dev test` need.
# shellcheck shell=bash disable=SC2154

cargo_deny_version=0.20.2
cargo_about_version=0.9.3
nixfmt_version=0.5.3
tools=$target/tools

# need PROGRAM PACKAGE...: installs the Debian packages if PROGRAM is missing
need() {
  command -v "$1" >/dev/null || need_package "$@"
}

# need_package NAME PACKAGE...: installs the Debian packages that provide NAME
need_package() {
  note "installing ${*:2}"
  install_packages "${@:2}" || die "\`$1\` is missing"
}

need_rust() {
  command -v cargo >/dev/null || die "\`cargo\` is missing" \
    "Install Rust 1.95 or newer with rustup, then open a new shell."
  # Cargo links build scripts and procedural macros with the system's C toolchain.
  need cc gcc libc6-dev
}

need_component() {
  cargo "$1" --version >/dev/null 2>&1 && return
  note "installing the Rust component $2"
  rustup component add "$2" || die "\`cargo $1\` is missing" "rustup component add $2"
}

need_target() {
  [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] && return
  note "installing the Rust standard library for $1"
  rustup target add "$1" || die "the Rust standard library for $1 is missing" "rustup target add $1"
}

# need_cargo_tool PROGRAM CRATE VERSION [ARGUMENT...]: installs a program of a crate with these arguments of `cargo install`
need_cargo_tool() {
  [ "$("$tools/bin/$1" --version 2>/dev/null)" = "${2//_/-} $3" ] && return
  note "installing $1 $3"
  # A debug build: it runs for seconds, so an optimized build would not pay off. Each has a folder of its own, which others do not remove.
  cargo install --debug --locked --force --root "$tools" --target-dir "$tools/build-$1" "${@:4}" "$2@$3" ||
    die "$1 could not be installed" "See the message of cargo above."
  rm -rf -- "$tools/build-$1"
}

need_cargo_deny() { need_cargo_tool cargo-deny cargo-deny "$cargo_deny_version"; }

# `spdx` compares texts, which takes minutes without optimization.
need_cargo_about() {
  need_cargo_tool cargo-about cargo-about "$cargo_about_version" --features cli --config profile.dev.package.spdx.opt-level=3
}

# nixfmt in Rust, with the output of the one in Haskell that `nix fmt` runs.
need_nixfmt() { need_cargo_tool nixfmt nixfmt_rs "$nixfmt_version"; }

# need_unpacked PROGRAM DOWNLOAD: puts a program of the Debian package of that name into $tools/bin, without its service. DOWNLOAD is the
# function that downloads it.
need_unpacked() {
  [ ! -x "$tools/bin/$1" ] || return 0
  note "downloading $1"
  (cd -- "$scratch" && "$2" "$1" && dpkg-deb --extract "$1"_*.deb "$1") || die "\`$1\` could not be downloaded"
  install -D -t "$tools/bin" -- "$scratch/$1/usr/bin/$1"
}

# The system's Python, whose packages are Debian's.
need_system_python() {
  [ -x /usr/bin/python3 ] || need_package python3 python3
}

# The programs that tests/nix/sandbox offers to the tests.
need_sandbox() {
  need_system_python
  need bwrap bubblewrap
  need busybox busybox-static
  need openssl openssl
  need pgrep procps
  need xz xz-utils
  need bzip2 bzip2
  need node nodejs
}
