# Rust's own release for the static programs, with the standard library of each target, which includes musl. nixpkgs would
# first build a C cross compiler and a standard library for each target, which no binary cache has.
# The checks use nixpkgs' Rust, so the program also builds with that.
{
  lib,
  architectures,
  rustBin,
}:
rustBin.stable."1.95.0".minimal.override {
  targets = map (arch: arch.target) (lib.attrValues architectures);
}
