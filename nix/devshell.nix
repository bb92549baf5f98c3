# nix develop: what the checks use, for work by hand.
{
  mkShell,
  cargo,
  cargo-deny,
  cargo-nextest,
  clippy,
  jq,
  nixfmt,
  nodejs,
  rust-analyzer,
  rustc,
  rustfmt,
  shellcheck,
  skopeo,
}:
mkShell {
  packages = [
    cargo
    cargo-deny
    cargo-nextest
    clippy
    jq
    nixfmt
    nodejs
    rust-analyzer
    rustc
    rustfmt
    shellcheck
    skopeo
  ];
}
