# Path of the policy file. A policy of the configuration is checked by the program when the system is built.
{ cfg, pkgs }:
if cfg.policyFile != null then
  cfg.policyFile
else
  pkgs.runCommand "browser-shell.policy.json" { } ''
    install -m 444 ${(pkgs.formats.json { }).generate "policy.json" cfg.policy} "$out"
    ${pkgs.lib.getExe cfg.package} policy check --without-files "$out"
  ''
