# Configurations that would give more than was asked for, or could not run.
{ config, lib, ... }:
let
  cfg = config.services.browser-shell;
  isLoopback = lib.hasPrefix "127." cfg.listen || lib.hasPrefix "[::1]:" cfg.listen;
  hasCredentials = cfg.credentials.apiKeysFile != null || cfg.credentials.jwtKeysFile != null;
  # Flags that the module sets.
  reserved = [
    "agent-browser"
    "api-keys"
    "chromium"
    "jwt-keys"
    "listen"
    "novnc"
    "policy"
    "runtime-dir"
    "screen"
    "workspace"
    "xvnc"
  ];
  # True if the policy names this engine, at its top or for some sessions. A policy file is read only when the service runs.
  hasAgentBrowser = lib.any (part: part.engine or "" == "agent-browser") (
    [ cfg.policy ] ++ lib.toList (cfg.policy.sessions or [ ])
  );
  twice = lib.intersectLists reserved (lib.attrNames cfg.settings);
in
{
  config = lib.mkIf cfg.enable {
    assertions = [
      {
        assertion = (cfg.policy == null) != (cfg.policyFile == null);
        message = "services.browser-shell: set either `policy` or `policyFile`; `policy = { }` allows any public host";
      }
      {
        assertion = cfg.mode == "native" || !hasAgentBrowser;
        message = "services.browser-shell: the slim image has no agent-browser; leave the engine `agent-browser` out of the policy, or set `mode` to `native`";
      }
      {
        assertion = cfg.mode == "container" || !hasAgentBrowser || cfg.agentBrowserPackage != null;
        message = "services.browser-shell: the policy has the engine `agent-browser`; set `agentBrowserPackage`";
      }
      {
        assertion = isLoopback || hasCredentials;
        message = "services.browser-shell: `${cfg.listen}` can be reached from other machines; set `credentials.apiKeysFile` or `credentials.jwtKeysFile`, or listen on 127.0.0.1";
      }
      {
        assertion = cfg.mode == "native" || hasCredentials;
        message = "services.browser-shell: a container listens on all of its addresses; set `credentials.apiKeysFile` or `credentials.jwtKeysFile`";
      }
      {
        assertion = cfg.mode == "native" || cfg.container.digest != null;
        message = "services.browser-shell: set `container.digest` to the digest of the slim image";
      }
      {
        assertion = twice == [ ];
        message = "services.browser-shell: `settings.${lib.head (twice ++ [ "" ])}` has an option of its own, or belongs to the module; remove it";
      }
    ];
  };
}
