# nix run .#native-sbom [-- amd64|arm64]: `sbom` for the image with the native agent-browser.
{ callPackage, nativeSbom }:
callPackage ./sbom.nix {
  name = "native-sbom";
  sbom = nativeSbom;
}
