# A standalone image: our layers without a base, and the container's configuration. It starts as an unprivileged user and writes
# only to the folders that its flags in deploy/ mount.
{
  lib,
  nix2container,
  agentBrowser,
  created,
  nixpkgsDate,
  revision,
  version,
}:
{
  # Name of the image.
  name,
  description,
  # Flavor of agent-browser, or null.
  flavor,
  # The parts of ./programs.nix and ./rootfs.nix.
  programs,
  rootfs,
  # Command of the program.
  command,
  # Port that clients use.
  port,
}:
{ arch }:
let
  layers = map (
    layer:
    nix2container.buildLayer {
      copyToRoot = layer.root;
      inherit (layer) perms;
      metadata.created_by = "${name}: ${layer.name}";
    }
  ) (rootfs.layers arch);

  configuration = {
    User = "${toString rootfs.user.uid}:${toString rootfs.user.gid}";
    # tini reaps orphaned processes; with -g it forwards signals to the whole process group. The container's arguments are
    # appended, so they are arguments of the command.
    Entrypoint = [
      "/usr/bin/tini"
      "-g"
      "--"
      "/usr/local/bin/browser-shell"
      command
    ];
    Env = rootfs.environment;
    ExposedPorts."${toString port}/tcp" = { };
    Volumes."/workspace" = { };
    WorkingDir = "/";
    StopSignal = "SIGTERM";
    Labels = {
      "org.opencontainers.image.title" = name;
      "org.opencontainers.image.description" = description;
      "org.opencontainers.image.licenses" = "Apache-2.0";
      "org.opencontainers.image.version" = version;
      "org.opencontainers.image.revision" = revision;
      "org.opencontainers.image.created" = created;
      "browser-shell.chromium.version" = (programs arch).chromium.version;
      # That of nixpkgs: no fix of Chromium from a later day is in it.
      "browser-shell.chromium.date" = nixpkgsDate;
    }
    // lib.optionalAttrs (flavor != null) {
      "browser-shell.agent-browser.version" = agentBrowser.${flavor}.version;
    };
  };
in
nix2container.buildImage {
  name = "localhost/${name}";
  tag = version;
  inherit arch created layers;
  config = configuration;
  meta.description = "The container image ${name} for linux/${arch}";
}
# `configuration` is for evaluation without a build.
// {
  inherit configuration;
}
