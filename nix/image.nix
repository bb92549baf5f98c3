# The image: the base, our layers, and the base's configuration with our environment and labels merged in.
# The rest of the configuration is unchanged, because the base depends on its own entrypoint, user and environment.
{
  lib,
  nix2container,
  writeText,
  agentBrowser,
  base,
  rootfs,
  created,
  revision,
  version,
}:
{
  arch,
  flavor ? "node",
  # false: only our layers, for checks that do not need the base (3.4 GB).
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
  ) (rootfs.layers { inherit arch flavor; });

  config = if onBase then base.config arch else { };

  # nix2container keeps these members of a configuration and drops all others.
  kept = [
    "ArgsEscaped"
    "Cmd"
    "Entrypoint"
    "Env"
    "ExposedPorts"
    "Labels"
    "StopSignal"
    "User"
    "Volumes"
    "WorkingDir"
  ];
  # Members that nix2container drops, and ./oci-image.nix adds to the configuration again: the OCI format does not have them, but engines
  # read them.
  added = [ "Healthcheck" ];
  # Members without an effect on a container. OnBuild is for a Dockerfile that begins with the base. The others are about the container
  # in which the base was built.
  ignored = [
    "AttachStderr"
    "AttachStdin"
    "AttachStdout"
    "Domainname"
    "Hostname"
    "Image"
    "OnBuild"
    "OpenStdin"
    "StdinOnce"
    "Tty"
  ];
  isEmpty =
    value:
    lib.elem value [
      null
      ""
      false
      [ ]
      { }
    ];
  dropped = lib.filter (name: !lib.elem name (kept ++ added ++ ignored) && !isEmpty config.${name}) (
    lib.attrNames config
  );

  # Merges KEY=VALUE lists; the second list wins.
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
    "browser-shell.agent-browser.version" = agentBrowser.${flavor}.version;
    "browser-shell.base.generation" = base.generation;
  };

  # A file with those of the base, or "".
  inherited =
    let
      members = lib.filterAttrs (name: value: lib.elem name added && !isEmpty value) config;
    in
    lib.optionalString (members != { }) (writeText "inherited.json" (builtins.toJSON members));

  configuration = removeAttrs config ignored // {
    Env = mergeEnv (config.Env or [ ]) rootfs.environment;
    Labels = (config.Labels or { }) // labels;
  };

  # The container's environment must have the generation that rootfs/ was adapted to.
  generationInEnv = "BROWSER_SHELL_BASE_GENERATION=${base.generation}";
in
assert lib.assertMsg (lib.elem generationInEnv rootfs.environment)
  "the base's generation is `${base.generation}`, but rootfs/image.env does not contain `${generationInEnv}`";
assert lib.assertMsg (dropped == [ ])
  "nix2container would drop ${
    lib.concatMapStringsSep ", " (name: "`${name}`") dropped
  } of the base's configuration; repeat it in deploy/, then add it to `ignored` in nix/image.nix";
# `configuration` is for evaluation without a build.
nix2container.buildImage (
  {
    name = "localhost/browser-shell";
    tag = if flavor == "node" then version else "${version}-${flavor}";
    inherit arch created layers;
    config = removeAttrs configuration added;
    meta.description = "The browser-shell container image for linux/${arch}";
  }
  // lib.optionalAttrs onBase { fromImage = base.layers arch; }
)
// {
  inherit configuration inherited;
}
