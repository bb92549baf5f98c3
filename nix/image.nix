# The image: the base, our layers over it, and the base's configuration with our changes merged in.
# Must never drop what the base's configuration says: its entrypoint, user and environment are how it starts.
{
  lib,
  nix2container,
  agentBrowser,
  base,
  rootfs,
  created,
  revision,
  version,
}:
{
  arch,
  flavour ? "node",
  # false: our layers alone, for checks that have no use for 3.4 GB
  onBase ? true,
}:
let
  layers = map (
    layer:
    nix2container.buildLayer {
      copyToRoot = layer.root;
      inherit (layer) perms;
      metadata.created_by = "browser-shell: ${layer.name}";
    }
  ) (rootfs.layers { inherit arch flavour; });

  config = if onBase then base.config arch else { };

  # KEY=VALUE lists: a key keeps its place, the later value wins
  mergeEnv =
    below: above:
    let
      key = entry: lib.head (lib.splitString "=" entry);
      keys = list: map key list;
    in
    lib.filter (entry: !lib.elem (key entry) (keys above)) below ++ above;

  labels = {
    "org.opencontainers.image.title" = "browser-shell";
    "org.opencontainers.image.description" =
      "One MCP tool for an AI agent: a visible Chromium behind a URL policy";
    "org.opencontainers.image.licenses" = "Apache-2.0";
    "org.opencontainers.image.version" = version;
    "org.opencontainers.image.revision" = revision;
    "org.opencontainers.image.created" = created;
    "org.opencontainers.image.base.name" = "${base.name}:${base.tag}";
    "org.opencontainers.image.base.digest" = base.digest arch;
    "browser-shell.agent-browser.version" = agentBrowser.${flavour}.version;
    "browser-shell.base.generation" = base.generation;
  };

  configuration = config // {
    Env = mergeEnv (config.Env or [ ]) rootfs.environment;
    Labels = (config.Labels or { }) // labels;
  };

  # what rootfs/ was fitted to is what the container is told
  generationInEnv = "BROWSER_SHELL_BASE_GENERATION=${base.generation}";
in
assert lib.assertMsg (lib.elem generationInEnv rootfs.environment)
  "the base is `${base.generation}`, and rootfs/image.env does not say `${generationInEnv}`";
# beside the image, for those who ask what it would say
nix2container.buildImage (
  {
    name = "localhost/browser-shell";
    tag = if flavour == "node" then version else "${version}-${flavour}";
    inherit arch created layers;
    config = configuration;
    meta.description = "The browser-shell container image for linux/${arch}";
  }
  // lib.optionalAttrs onBase { fromImage = base.layers arch; }
)
// {
  inherit configuration;
}
