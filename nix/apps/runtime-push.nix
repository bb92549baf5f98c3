# nix run .#runtime-push -- REPOSITORY TAG [ARGUMENT OF SKOPEO...]: `push`, with the runtime's image.
{ callPackage, runtimeOciLayout }:
callPackage ./push.nix {
  name = "runtime-push";
  oci-layout = runtimeOciLayout;
}
