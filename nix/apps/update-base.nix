# nix run .#update-base -- TAG [direct|hub] [FOLDER]: resolves TAG at the registry and writes the result to FOLDER/TAG
# (FOLDER is nix/base by default): the digests, and the manifest and configuration of each architecture.
{
  writeShellApplication,
  coreutils,
  jq,
  skopeo,
  base,
}:
writeShellApplication {
  name = "update-base";
  runtimeInputs = [
    coreutils
    jq
    skopeo
  ];
  text = ''
    registry=${base.registry}
    repository=${base.repository}
    ${builtins.readFile ./update-base}
  '';
  meta.description = "Resolves a tag of the base image and writes its digests to nix/base";
}
