# nix run .#update-base -- TAG [direct|hub] [FOLDER]: asks the registry what TAG is now, and writes the answer into FOLDER/TAG
# (nix/base by default): digests, and for each architecture the manifest and the configuration with these digests.
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
  meta.description = "Resolves a tag of the base image and writes what it is into nix/base";
}
