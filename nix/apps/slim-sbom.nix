# nix run .#slim-sbom [-- amd64|arm64]: `sbom` for the slim image.
{ callPackage, slim }:
callPackage ./sbom.nix {
  name = "slim-sbom";
  inherit (slim) sbom;
}
