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
  contained = evaluate (keys // container);
  image = contained.virtualisation.oci-containers.containers.browser-shell;
  engine = contained.systemd.services.${image.serviceName};
  hasFlag = flag: lib.hasInfix flag unit.serviceConfig.ExecStart;
  recommended = lib.importJSON ../../examples/policy.recommended.json;
  policyOf = settings: (evaluate settings).services.browser-shell.policy;
  commandOf = settings: (evaluate settings).systemd.services.browser-shell.serviceConfig.ExecStart;
  # In the command, or in what it depends on.
  namesAgentBrowser =
    command:
    lib.any (lib.hasInfix "agent-browser") ([ command ] ++ lib.attrNames (builtins.getContext command));

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
    "native: agent-browser only if it is set" =
      !namesAgentBrowser (commandOf { })
      && lib.hasInfix "--agent-browser=/nix/store/" (commandOf {
        agentBrowserPackage = pkgs.hello;
        policy.engine = "agent-browser";
      });
    "native: credentials are loaded by systemd" =
      unit.serviceConfig.LoadCredential == [ "api-keys:/run/secrets/api-keys.txt" ]
      && unit.environment.BROWSER_SHELL_API_KEYS == "%d/api-keys";
    "native: the confinement of the unit in deploy/systemd" =
      unit.serviceConfig.ProtectSystem == "strict"
      && unit.serviceConfig.RestrictNamespaces == "user pid net"
      && unit.serviceConfig.CapabilityBoundingSet == ""
      && unit.serviceConfig.KillMode == "mixed"
      && !unit.serviceConfig ? MemoryDenyWriteExecute;
    "the recommended policy in both modes" =
      policyOf { } == recommended && contained.services.browser-shell.policy == recommended;
    "another policy replaces it as a whole" =
      policyOf { policy.output.style = "text"; } == {
        output.style = "text";
      }
      && policyOf { policy = { }; } == { };
    "a policy file replaces it" =
      policyOf { policyFile = "/etc/policy.json"; } == null
      && lib.hasInfix "--policy=/etc/policy.json" (commandOf {
        policyFile = "/etc/policy.json";
      });
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
      "no policy" = isRefused { policy = null; } "either `policy` or `policyFile`";
      "two policies" = isRefused {
        policy = { };
        policyFile = "/etc/policy.json";
      } "either `policy` or `policyFile`";
      "the engine agent-browser without its package" = isRefused {
        policy.engine = "agent-browser";
      } "set `agentBrowserPackage`";
      "the engine agent-browser for some sessions" = isRefused {
        policy.sessions = [
          { match = "a-*"; }
          {
            match = "b-*";
            engine = "agent-browser";
          }
        ];
      } "set `agentBrowserPackage`";
      "the engine agent-browser in the slim image" = isRefused (
        {
          policy.engine = "agent-browser";
          agentBrowserPackage = pkgs.hello;
        }
        // keys
        // container
      ) "the slim image has no agent-browser";
      "other machines without credentials" = isRefused {
        listen = "0.0.0.0:8080";
      } "can be reached from other machines";
      "a container without credentials" = isRefused container "a container listens";
      "a container without a digest" = isRefused ({ mode = "container"; } // keys) "`container.digest`";
      "a flag of the module" = isRefused { settings.workspace = "/tmp"; } "`settings.workspace`";
      "control: loopback is not" = refusals { } == [ ];
      "control: loopback with a policy file is not" =
        refusals { policyFile = "/etc/policy.json"; } == [ ];
      "control: the engine cdp is not" = refusals { policy.engine = "cdp"; } == [ ];
    }
  );
  failed = lib.attrNames (lib.filterAttrs (_: passed: !passed) tests);
in
assert lib.assertMsg (failed == [ ]) "nixos-module: ${lib.concatStringsSep "; " failed}";
writeText "browser-shell-check-nixos-module" (lib.concatLines (lib.attrNames tests))
