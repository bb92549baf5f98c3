# Writes an image of both architectures and its index into a folder, as an OCI layout: what a registry gets, byte for byte, so
# that the digest is known before anything is pushed. `override` makes the same for another image.
#
#     oci-layout FOLDER     prints the digests: the index first, then one line for each architecture
#
# It needs room for both; with the base's layers in them, 7 GB.
{
  lib,
  writeShellApplication,
  coreutils,
  jq,
  skopeo-nix2container,
  architectures,
  image,
}:
writeShellApplication {
  name = "oci-layout";
  runtimeInputs = [
    coreutils
    jq
    skopeo-nix2container
  ];
  text = ''
    folder=''${1:?usage: oci-layout FOLDER}
    mkdir -p -- "$folder"
    [ -z "$(ls -A -- "$folder")" ] || { echo "oci-layout: \`$folder\` is not empty" >&2 && exit 64; }

    ${lib.concatMapStrings (arch: ''
      skopeo --insecure-policy copy --quiet nix:${image { inherit arch; }} "oci:$folder:${arch}"
    '') (lib.attrNames architectures)}
    ${builtins.readFile ./oci-index}
  '';
  meta.description = "Writes both images and their index as an OCI layout";
}
