# The image's architectures by their OCI names, and their names elsewhere.
{
  amd64 = {
    # Nix: the host system, and the package set that cross-compiles static programs for it.
    system = "x86_64-linux";
    cross = "musl64";
    # npm: agent-browser's package.
    npm = "x64";
  };
  arm64 = {
    system = "aarch64-linux";
    cross = "aarch64-multiplatform-musl";
    npm = "arm64";
  };
}
