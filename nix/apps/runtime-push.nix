# nix run .#runtime-push -- REPOSITORY TAG [SKOPEO_ARGUMENT...]: `push` for the runtime's image.
{ callPackage, runtimeOciLayout }:
callPackage ./push.nix {
  name = "runtime-push";
  oci-layout = runtimeOciLayout;
}
