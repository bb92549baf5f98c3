# nix run .#runtime-load [-- podman|docker]: `load`, with the runtime's image.
{ callPackage, runtimeImage }:
callPackage ./load.nix {
  name = "runtime-load";
  image = runtimeImage;
}
