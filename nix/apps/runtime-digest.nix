# nix run .#runtime-digest [-- FILE...]: `digest` for the runtime's image.
{ callPackage, runtimeOciLayout }:
callPackage ./digest.nix {
  name = "runtime-digest";
  oci-layout = runtimeOciLayout;
}
