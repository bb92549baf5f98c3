# nix develop: a shell with the tools that the checks use.
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
