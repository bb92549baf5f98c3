# nix run .#runtime-load [-- podman|docker]: `load` for the runtime's image.
{ callPackage, runtime }:
callPackage ./load.nix {
  name = "runtime-load";
  inherit (runtime) image;
}
