# nix develop: a shell with the tools that the checks use, Rust included.
{
  mkShell,
  cargo-deny,
  cargo-nextest,
  jq,
  nixfmt,
  nodejs,
  rust-analyzer,
  shellcheck,
  skopeo,
  toolchain,
}:
mkShell {
  packages = [
    cargo-deny
    cargo-nextest
    jq
    nixfmt
    nodejs
    rust-analyzer
    shellcheck
    skopeo
    toolchain
  ];
}
