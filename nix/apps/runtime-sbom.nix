# nix run .#runtime-sbom [-- amd64|arm64]: `sbom` for the runtime's image.
{ callPackage, runtimeSbom }:
callPackage ./sbom.nix {
  name = "runtime-sbom";
  sbom = runtimeSbom;
}
