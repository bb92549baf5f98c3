# The image's architectures by their OCI names, and their names elsewhere.
{
  amd64 = {
    # Nix: the host system.
    system = "x86_64-linux";
    # Rust: the target of static programs.
    target = "x86_64-unknown-linux-musl";
    # npm: agent-browser's package.
    npm = "x64";
  };
  arm64 = {
    system = "aarch64-linux";
    target = "aarch64-unknown-linux-musl";
    npm = "arm64";
  };
}
