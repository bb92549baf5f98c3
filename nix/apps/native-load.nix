# nix run .#native-load [-- podman|docker]: `load` for the image with the native agent-browser.
{ callPackage, nativeImage }:
callPackage ./load.nix {
  name = "native-load";
  image = nativeImage;
}
