# Writes the images of both architectures and their index to a folder as an OCI layout. It has the exact bytes that a registry
# receives, so the digest is known before a push. Use `override` for another image.
#
#     oci-layout FOLDER     prints the digests: the index, then one line for each architecture
#
# With the base's layers, it needs 7 GB of disk.
{
  lib,
  writeShellApplication,
  coreutils,
  jq,
  architectures,
  image,
  oci-image,
}:
writeShellApplication {
  name = "oci-layout";
  runtimeInputs = [
    coreutils
    jq
    oci-image
  ];
  text = ''
    folder=''${1:?usage: oci-layout FOLDER}
    mkdir -p -- "$folder"
    [ -z "$(ls -A -- "$folder")" ] || { echo "oci-layout: \`$folder\` is not empty" >&2 && exit 64; }

    ${lib.concatMapStrings (
      arch:
      let
        built = image { inherit arch; };
      in
      ''
        oci-image nix:${built} "$folder" ${arch} ${built.inherited or ""}
      ''
    ) (lib.attrNames architectures)}
    ${builtins.readFile ./oci-index}
  '';
  meta.description = "Writes the images of both architectures and their index as an OCI layout";
}
