# nix run .#native-push -- REPOSITORY TAG [SKOPEO_ARGUMENT...]: `push` for the image with the native agent-browser.
{ callPackage, nativeOciLayout }:
callPackage ./push.nix {
  name = "native-push";
  oci-layout = nativeOciLayout;
}
