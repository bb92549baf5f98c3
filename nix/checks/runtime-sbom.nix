# Checks the bill of materials of the runtime's image (../standalone/sbom-check.nix).
{
  runtime,
  standaloneSbomCheck,
  hostArch,
}:
standaloneSbomCheck {
  standalone = runtime;
  kind = "runtime";
  npm = [ "agent-browser" ];
}
