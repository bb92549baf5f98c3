# Checks the bill of materials of the slim image (../standalone/sbom-check.nix).
{
  slim,
  standaloneSbomCheck,
  hostArch,
}:
standaloneSbomCheck {
  standalone = slim;
  kind = "slim";
  packages = [
    "tigervnc"
    "xorg-server"
    "novnc"
    "xkeyboard-config"
  ];
}
