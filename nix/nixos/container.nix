# The mode `container`: the slim image by its digest, with the flags of deploy/slim.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.browser-shell;
  credentials = import ./credentials.nix { inherit cfg lib; };
  flags = lib.filter (flag: !lib.hasPrefix "--publish=" flag && !lib.hasPrefix "--volume=" flag) (
    lib.splitString "\n" (lib.fileContents ../../deploy/slim/flags)
  );
  # The profile is named by its path in the repository.
  extraOptions = map (lib.replaceStrings
    [ "seccomp=deploy/runtime/seccomp.json" ]
    [ "seccomp=${../../deploy/runtime/seccomp.json}" ]
  ) flags;
  # Copies that the user of the image can read: hashes of keys, and public keys.
  folder = "/run/browser-shell-credentials";
  copy = pkgs.writeShellScript "browser-shell-credentials" ''
    set -euo pipefail
    ${lib.concatMapStrings (name: ''
      ${pkgs.coreutils}/bin/install -D -m 444 "$CREDENTIALS_DIRECTORY/${name}" ${folder}/${name}
    '') (lib.attrNames credentials)}
  '';
  inherit (config.virtualisation.oci-containers.containers.browser-shell) serviceName;
in
{
  config = lib.mkIf (cfg.enable && cfg.mode == "container") {
    networking.firewall.allowedTCPPorts = lib.mkIf cfg.openFirewall [
      (lib.toInt (lib.last (lib.splitString ":" cfg.listen)))
    ];

    virtualisation.oci-containers.containers.browser-shell = {
      image = "${cfg.container.image}@${toString cfg.container.digest}";
      ports = [ "${cfg.listen}:8080" ];
      environment = {
        BROWSER_SHELL_LISTEN = "0.0.0.0:8080";
        BROWSER_SHELL_SCREEN = if cfg.screen.enable then "xvnc" else "none";
      }
      // lib.mapAttrs' (
        name: credential: lib.nameValuePair credential.variable "/etc/browser-shell/${name}"
      ) credentials;
      volumes = [
        "browser-shell-slim:/workspace"
        "${import ./policy.nix { inherit cfg pkgs; }}:/etc/agent-browser/browser-shell.policy.json:ro"
        "${folder}:/etc/browser-shell:ro"
      ];
      inherit extraOptions;
      cmd = import ./flags.nix {
        inherit lib;
        inherit (cfg) settings;
      };
    };

    systemd.services.${serviceName}.serviceConfig = {
      LoadCredential = lib.mapAttrsToList (name: credential: "${name}:${credential.file}") credentials;
      ExecStartPre = lib.mkBefore [ copy ];
    };
  };
}
