# nix run .#push -- REGISTRY/REPOSITORY [TAG] [SKOPEO_ARGUMENT...]: pushes the images of both architectures and their index to a
# registry, without TAG by their digests alone. stdout is the digest of the index. It fails if the registry reports another digest.
# `runtime-push` does the same for the runtime's image.
{
  writeShellApplication,
  coreutils,
  skopeo,
  oci-layout,
  name ? "push",
}:
writeShellApplication {
  inherit name;
  runtimeInputs = [
    coreutils
    oci-layout
    skopeo
  ];
  text = ''
    name=${name}
    ${builtins.readFile ./push}
  '';
  meta.description = "Pushes both images and their index to a registry and prints the digest";
}
