# nix run .#slim-push -- REPOSITORY TAG [SKOPEO_ARGUMENT...]: `push` for the slim image.
{ callPackage, slimOciLayout }:
callPackage ./push.nix {
  name = "slim-push";
  oci-layout = slimOciLayout;
}
