# nix run .#slim-load [-- podman|docker]: `load` for the slim image.
{ callPackage, slim }:
callPackage ./load.nix {
  name = "slim-load";
  inherit (slim) image;
}
