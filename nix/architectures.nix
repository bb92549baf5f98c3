# The architectures of the image, by their names in image manifests; everything that is called differently elsewhere.
{
  amd64 = {
    # Nix: the host that runs it, and the package set that builds static programs for it from anywhere
    system = "x86_64-linux";
    cross = "musl64";
    # agent-browser's package
    npm = "x64";
  };
  arm64 = {
    system = "aarch64-linux";
    cross = "aarch64-multiplatform-musl";
    npm = "arm64";
  };
}
