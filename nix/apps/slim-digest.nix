# nix run .#slim-digest [-- FILE...]: `digest` for the slim image.
{ callPackage, slimOciLayout }:
callPackage ./digest.nix {
  name = "slim-digest";
  oci-layout = slimOciLayout;
}
