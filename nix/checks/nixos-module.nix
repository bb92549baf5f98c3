# Evaluates NixOS configurations with the module: what runs in each mode, and what is refused. vm-module runs one.
{
  lib,
  pkgs,
  writeText,
  nixosModule,
  hostArch,
}:
let
  evaluate =
    settings:
    (import (pkgs.path + "/nixos/lib/eval-config.nix") {
      system = null;
      modules = [
        nixosModule
        {
          nixpkgs.pkgs = pkgs;
          system.stateVersion = "26.05";
          boot.isContainer = true;
          services.browser-shell = {
            enable = true;
          }
          // settings;
        }
      ];
    }).config;
  refusals =
    settings:
    map (entry: entry.message) (
      lib.filter (
        entry: !entry.assertion && lib.hasPrefix "services.browser-shell: " entry.message
      ) (evaluate settings).assertions
    );

  digest = "sha256:${lib.concatStrings (lib.replicate 64 "0")}";
  keys = {
    credentials.apiKeysFile = "/run/secrets/api-keys.txt";
  };
  container = {
    mode = "container";
    container = { inherit digest; };
  };

  native = evaluate (
    {
      policy.open.allow_hosts = [ "example.com" ];
      listen = "0.0.0.0:8443";
      openFirewall = true;
      settings = {
        max-sessions = 8;
        allow-host = [
          "a.example"
          "b.example"
        ];
      };
    }
    // keys
  );
  unit = native.systemd.services.browser-shell;
  contained = evaluate ({ policy = { }; } // keys // container);
  image = contained.virtualisation.oci-containers.containers.browser-shell;
  engine = contained.systemd.services.${image.serviceName};
  hasFlag = flag: lib.hasInfix flag unit.serviceConfig.ExecStart;

  tests = {
    "native: the flags" =
      lib.all hasFlag [
        "serve"
        "--listen=0.0.0.0:8443"
        "--max-sessions=8"
        "--allow-host=a.example"
        "--allow-host=b.example"
        "--screen=xvnc"
        "--chromium=/nix/store/"
        "--policy=/nix/store/"
      ]
      && !hasFlag "api-keys";
    "native: credentials are loaded by systemd" =
      unit.serviceConfig.LoadCredential == [ "api-keys:/run/secrets/api-keys.txt" ]
      && unit.environment.BROWSER_SHELL_API_KEYS == "%d/api-keys";
    "native: the confinement of the unit in deploy/systemd" =
      unit.serviceConfig.ProtectSystem == "strict"
      && unit.serviceConfig.RestrictNamespaces == "user pid net"
      && unit.serviceConfig.CapabilityBoundingSet == ""
      && unit.serviceConfig.KillMode == "mixed"
      && !unit.serviceConfig ? MemoryDenyWriteExecute;
    "native: the firewall" = native.networking.firewall.allowedTCPPorts == [ 8443 ];
    "native: no container" = !(native.virtualisation.oci-containers.containers ? browser-shell);
    "container: the image by its digest" = image.image == "localhost/browser-shell-slim@${digest}";
    "container: the documented limits" =
      lib.elem "--cap-drop=ALL" image.extraOptions
      && lib.elem "--read-only" image.extraOptions
      && lib.any (lib.hasPrefix "--security-opt=seccomp=/nix/store/") image.extraOptions
      && image.ports == [ "127.0.0.1:8080:8080" ];
    "container: credentials" =
      engine.serviceConfig.LoadCredential == [ "api-keys:/run/secrets/api-keys.txt" ]
      && image.environment.BROWSER_SHELL_API_KEYS == "/etc/browser-shell/api-keys";
    "container: no service of its own" = !(contained.systemd.services ? browser-shell);
  }
  // lib.mapAttrs' (name: wanted: lib.nameValuePair "refused: ${name}" wanted) (
    let
      isRefused =
        settings: part:
        let
          messages = refusals settings;
        in
        lib.length messages == 1 && lib.hasInfix part (lib.head messages);
    in
    {
      "no policy" = isRefused { } "either `policy` or `policyFile`";
      "two policies" = isRefused {
        policy = { };
        policyFile = "/etc/policy.json";
      } "either `policy` or `policyFile`";
      "other machines without credentials" = isRefused {
        policy = { };
        listen = "0.0.0.0:8080";
      } "can be reached from other machines";
      "a container without credentials" = isRefused (
        { policy = { }; } // container
      ) "a container listens";
      "a container without a digest" = isRefused (
        {
          policy = { };
          mode = "container";
        }
        // keys
      ) "`container.digest`";
      "a flag of the module" = isRefused {
        policy = { };
        settings.workspace = "/tmp";
      } "`settings.workspace`";
      "control: loopback with a policy is not" = refusals { policyFile = "/etc/policy.json"; } == [ ];
    }
  );
  failed = lib.attrNames (lib.filterAttrs (_: passed: !passed) tests);
in
assert lib.assertMsg (failed == [ ]) "nixos-module: ${lib.concatStringsSep "; " failed}";
writeText "browser-shell-check-nixos-module" (lib.concatLines (lib.attrNames tests))
