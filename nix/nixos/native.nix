# The mode `native`: `browser-shell serve` as a service of systemd, with the confinement of deploy/systemd.
{
  config,
  lib,
  pkgs,
  utils,
  ...
}:
let
  cfg = config.services.browser-shell;
  credentials = import ./credentials.nix { inherit cfg lib; };
  settings = {
    inherit (cfg) listen;
    policy = import ./policy.nix { inherit cfg pkgs; };
    workspace = "/var/lib/browser-shell";
    runtime-dir = "/run/browser-shell";
    chromium = lib.getExe' cfg.chromiumPackage "chromium";
    screen = if cfg.screen.enable then "xvnc" else "none";
  }
  // lib.optionalAttrs (cfg.agentBrowserPackage != null) {
    agent-browser = lib.getExe' cfg.agentBrowserPackage "agent-browser";
  }
  // lib.optionalAttrs cfg.screen.enable {
    xvnc = lib.getExe' cfg.screen.tigervncPackage "Xvnc";
    novnc = "${cfg.screen.novncPackage}/share/webapps/novnc";
  }
  // cfg.settings;

  # For this service only: a person's own Chromium on this machine keeps its menus.
  managed = pkgs.linkFarm "browser-shell-managed-policies" {
    "zz-browser-shell.json" = ../../rootfs/etc/browser/policies/managed/zz-browser-shell.json;
  };
in
{
  config = lib.mkIf (cfg.enable && cfg.mode == "native") {
    users.users.browser-shell = {
      isSystemUser = true;
      group = "browser-shell";
    };
    users.groups.browser-shell = { };

    networking.firewall.allowedTCPPorts = lib.mkIf cfg.openFirewall [
      (lib.toInt (lib.last (lib.splitString ":" cfg.listen)))
    ];

    systemd.services.browser-shell = {
      description = "Browser for AI agents behind a URL policy";
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ];
      environment = {
        FONTCONFIG_FILE = toString (pkgs.makeFontsConf { fontDirectories = cfg.fonts; });
      }
      // lib.mapAttrs' (name: credential: lib.nameValuePair credential.variable "%d/${name}") credentials;
      serviceConfig = import ./unit.nix { inherit lib; } // {
        Type = "exec";
        ExecStart = utils.escapeSystemdExecArgs (
          [
            (lib.getExe cfg.package)
            "serve"
          ]
          ++ import ./flags.nix { inherit lib settings; }
        );
        # Opens the audit file again, after it was rotated.
        ExecReload = "${lib.getExe' pkgs.coreutils "kill"} -HUP $MAINPID";
        User = "browser-shell";
        Group = "browser-shell";
        BindReadOnlyPaths = [ "${managed}:/etc/chromium/policies/managed" ];
        LoadCredential = lib.mapAttrsToList (name: credential: "${name}:${credential.file}") credentials;
      };
    };
  };
}
