# The image of `browser-shell runtime`: our layers without a base, and the container's configuration.
# It starts as an unprivileged user and writes only to the folders that deploy/runtime/flags mounts.
{
  nix2container,
  agentBrowser,
  runtimePrograms,
  runtimeRootfs,
  created,
  revision,
  version,
}:
{ arch }:
let
  layers = map (
    layer:
    nix2container.buildLayer {
      copyToRoot = layer.root;
      inherit (layer) perms;
      metadata.created_by = "browser-shell-runtime: ${layer.name}";
    }
  ) (runtimeRootfs.layers arch);

  configuration = {
    User = "${toString runtimeRootfs.user.uid}:${toString runtimeRootfs.user.gid}";
    # tini reaps orphaned processes; with -g it forwards signals to the whole process group. The container's arguments are
    # appended, so they are arguments of the runtime.
    Entrypoint = [
      "/usr/bin/tini"
      "-g"
      "--"
      "/usr/local/bin/browser-shell"
      "runtime"
    ];
    Env = runtimeRootfs.environment;
    ExposedPorts."8115/tcp" = { };
    Volumes."/workspace" = { };
    WorkingDir = "/";
    StopSignal = "SIGTERM";
    Labels = {
      "org.opencontainers.image.title" = "browser-shell-runtime";
      "org.opencontainers.image.description" =
        "A headless Chromium behind a URL policy, driven over HTTP and MCP";
      "org.opencontainers.image.licenses" = "Apache-2.0";
      "org.opencontainers.image.version" = version;
      "org.opencontainers.image.revision" = revision;
      "org.opencontainers.image.created" = created;
      "browser-shell.agent-browser.version" = agentBrowser.native.version;
      "browser-shell.chromium.version" = (runtimePrograms arch).chromium.version;
    };
  };
in
nix2container.buildImage {
  name = "localhost/browser-shell-runtime";
  tag = version;
  inherit arch created layers;
  config = configuration;
  meta.description = "The container image of browser-shell's runtime for linux/${arch}";
}
# `configuration` is for evaluation without a build.
// {
  inherit configuration;
}
