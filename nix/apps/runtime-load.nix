# nix run .#runtime-load [-- podman|docker]: `load` for the runtime's image.
{ callPackage, runtimeImage }:
callPackage ./load.nix {
  name = "runtime-load";
  image = runtimeImage;
}
