# nix run .#mirror-base -- REGISTRY/REPOSITORY [SKOPEO_ARGUMENT...]: copies the base image by its digest to a registry of yours,
# for the time when its tag is gone. The digests stay the same, so a build from the copy is the same image.
{
  writeShellApplication,
  skopeo,
  base,
}:
writeShellApplication {
  name = "mirror-base";
  runtimeInputs = [ skopeo ];
  text = ''
    name=${base.name} tag=${base.tag} index=${base.index}
    file=nix/base/${base.tag}/base.json
    ${builtins.readFile ./mirror-base}
  '';
  meta.description = "Copies the base image by its digest to another registry";
}
