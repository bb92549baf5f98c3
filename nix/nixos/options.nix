# Options of the module. docs/nixos-options.md is generated from their descriptions.
{ packagesOf }:
{
  config,
  lib,
  pkgs,
  ...
}:
let
  inherit (lib) mkOption mkEnableOption types;
  packages = packagesOf pkgs.stdenv.hostPlatform.system;
  packageOption =
    name: default: description:
    mkOption {
      type = types.package;
      inherit default description;
      defaultText = lib.literalExpression name;
    };
  # A path as text: a path of Nix would be copied to the store, which everybody can read.
  file = types.nullOr (types.strMatching "/.+");
in
{
  options.services.browser-shell = {
    enable = mkEnableOption "browser-shell, a browser for AI agents behind a URL policy";

    mode = mkOption {
      type = types.enum [
        "native"
        "container"
      ];
      default = "native";
      description = "`native` runs `browser-shell serve` as a service of systemd. `container` runs the slim image by its digest.";
    };

    listen = mkOption {
      type = types.strMatching ".+:[0-9]+";
      default = "127.0.0.1:8080";
      example = "0.0.0.0:8080";
      description = "Address of the tool and the screen. Any other one than loopback needs credentials.";
    };

    openFirewall = mkOption {
      type = types.bool;
      default = false;
      description = "Opens the port of `listen` in the firewall.";
    };

    policy = mkOption {
      type = types.nullOr (pkgs.formats.json { }).type;
      # That of `serve` without a file, which runs in both modes.
      default =
        if config.services.browser-shell.policyFile == null then
          lib.importJSON ../../examples/policy.recommended.json
        else
          null;
      defaultText = lib.literalExpression "the recommended policy, or null with policyFile";
      example = {
        open.allow_host_suffixes = [ ".example.com" ];
      };
      description = "Policy, which is checked when the system is built. It replaces the recommended one as a whole: `{ }` is the safe defaults, which allow any public host.";
    };

    policyFile = mkOption {
      type = file;
      default = null;
      example = "/etc/agent-browser/browser-shell.policy.json";
      description = "Policy file outside of the Nix store. The server notices changes.";
    };

    credentials = {
      apiKeysFile = mkOption {
        type = file;
        default = null;
        example = "/run/secrets/api-keys.txt";
        description = "File of API keys, `SUBJECT SCOPE sha256:HASH` in each line. systemd loads it as a credential, so only root needs to be able to read it; restart the service after a change.";
      };

      jwtKeysFile = mkOption {
        type = file;
        default = null;
        description = "File with the public keys of tokens: PEM, or a JSON Web Key Set. Loaded as `apiKeysFile` is.";
      };
    };

    settings = mkOption {
      type = types.attrsOf (
        types.oneOf [
          types.int
          types.str
          (types.listOf types.str)
        ]
      );
      default = { };
      example = {
        screen-size = "1600x900";
        max-sessions = 8;
      };
      description = "Other flags of `browser-shell serve`, by their names without dashes. The server does not start with an unknown one.";
    };

    package =
      packageOption "browser-shell" packages.browser-shell
        "The program. It also checks the policy of a container.";

    agentBrowserPackage = mkOption {
      type = types.nullOr types.package;
      default = null;
      example = lib.literalExpression "pkgs.browser-shell-agent-browser";
      description = "The agent-browser of the mode `native`, for a policy with the engine `agent-browser`. The engine `cdp` needs none.";
    };

    chromiumPackage = packageOption "pkgs.chromium" pkgs.chromium "The Chromium of the mode `native`.";

    fonts = mkOption {
      type = types.listOf types.package;
      default = [
        pkgs.liberation_ttf
        pkgs.noto-fonts
        pkgs.noto-fonts-cjk-sans
        pkgs.noto-fonts-color-emoji
      ];
      defaultText = lib.literalExpression "Liberation and Noto, with CJK and emoji";
      description = "Fonts of pages in the mode `native`.";
    };

    screen = {
      enable = mkOption {
        type = types.bool;
        default = true;
        description = "Serves the screen at `/vnc/`. Without it, Chromium has no windows.";
      };

      tigervncPackage = packageOption "pkgs.tigervnc" pkgs.tigervnc "The display of the mode `native`.";

      novncPackage = packageOption "pkgs.novnc" pkgs.novnc "The viewer of the mode `native`.";
    };

    container = {
      image = mkOption {
        type = types.strMatching "[^@]+";
        default = "localhost/browser-shell-slim";
        example = "registry.example.com/browser-shell-slim";
        description = "Repository of the slim image.";
      };

      digest = mkOption {
        type = types.nullOr (types.strMatching "sha256:[0-9a-f]{64}");
        default = null;
        description = "Digest of the image, from the release notes. Required in the mode `container`.";
      };
    };
  };
}
