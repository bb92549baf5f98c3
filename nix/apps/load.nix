# nix run .#load [-- podman|docker]: loads the image for this host into the local container engine. `runtime-load` does the
# same for the runtime's image.
{
  lib,
  writeShellApplication,
  coreutils,
  oci-image,
  skopeo-nix2container,
  hostArch,
  image,
  name ? "load",
}:
let
  built = image { arch = hostArch; };
  inherited = built.inherited or "";
in
writeShellApplication {
  inherit name;
  runtimeInputs = [
    coreutils
    oci-image
    skopeo-nix2container
  ];
  text = ''
    name=${name} image=${built.imageName}:${built.imageTag} source=nix:${built}
    ${lib.optionalString (inherited != "") ''
      work=$(mktemp --directory)
      trap 'rm -rf -- "$work"' EXIT
      oci-image "$source" "$work" image ${inherited}
      source=oci:$work:image
    ''}
    ${builtins.readFile ./load}
  '';
  meta.description = "Loads `${built.imageName}` into podman or docker";
}
