# nix run .#native-digest [-- FILE...]: `digest` for the image with the native agent-browser.
{ callPackage, nativeOciLayout }:
callPackage ./digest.nix {
  name = "native-digest";
  oci-layout = nativeOciLayout;
}
