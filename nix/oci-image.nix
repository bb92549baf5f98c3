# Writes an image to a folder as an OCI layout, with the bytes that a registry receives: our layers compressed by zstd, those of
# the base unchanged.
#
#     oci-image SOURCE FOLDER NAME [INHERITED]    INHERITED is a file: see `inherited` in ./image.nix
{
  writeShellApplication,
  coreutils,
  jq,
  skopeo-nix2container,
  zstd,
}:
writeShellApplication {
  name = "oci-image";
  runtimeInputs = [
    coreutils
    jq
    skopeo-nix2container
    zstd
  ];
  text = ''
    source=''${1:?usage: oci-image SOURCE FOLDER NAME} folder=''${2:?no folder} name=''${3:?no name} inherited=''${4:-}
    ${builtins.readFile ./oci-image}
  '';
  meta.description = "Writes an image to an OCI layout as a registry receives it";
}
