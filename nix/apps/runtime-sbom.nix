# nix run .#runtime-sbom [-- amd64|arm64]: `sbom` for the runtime's image.
{ callPackage, runtime }:
callPackage ./sbom.nix {
  name = "runtime-sbom";
  inherit (runtime) sbom;
}
