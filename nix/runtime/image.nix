# The image for `browser-shell runtime`: no base, our layers alone, and what a container of it is started with.
# Must never start as root, nor need to write anywhere but in the folders that deploy/runtime/flags mounts.
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
    # tini ends and reaps whatever is started below; with -g a signal reaches all of it. Arguments of a container are the runtime's.
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
# beside the image, for those who ask what it would say
// {
  inherit configuration;
}
