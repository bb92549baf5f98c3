# Rust's own release, pinned by rust-overlay, for everything that compiles or reads our source: the programs, the checks and the
# development shell. nixpkgs' Rust is another one, whose lints and formatting change with the pin of nixpkgs.
# It has the standard library of each target, which includes musl. nixpkgs would first build a C cross compiler and a standard
# library for each target, which no binary cache has.
{
  lib,
  architectures,
  rustBin,
}:
rustBin.stable."1.95.0".minimal.override {
  extensions = [
    "clippy"
    "rustfmt"
  ];
  targets = map (arch: arch.target) (lib.attrValues architectures);
}
