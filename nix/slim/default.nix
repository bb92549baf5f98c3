# The slim image: `browser-shell serve` with its display and its viewer, from nixpkgs alone. Its engine is `cdp`, so it has no
# agent-browser.
{
  lib,
  runCommand,
  novnc,
  licenses,
  slimDisplay,
  sources,
  standalone,
}:
let
  # The part of noVNC that browsers load. Translations and the Python program beside it are left out.
  viewer = runCommand "browser-shell-slim-viewer" { allowedReferences = [ ]; } ''
    mkdir -p "$out/usr/share/novnc"
    cp -R --no-preserve=ownership,mode ${novnc}/share/webapps/novnc/{app,core,vendor,vnc.html} "$out/usr/share/novnc"
    ${licenses.viewer novnc}
  '';
in
standalone {
  name = "browser-shell-slim";
  description = "One MCP tool for an AI agent: a visible Chromium behind a URL policy, without a shell";
  command = "serve";
  port = 8080;
  environment = ./image.env;
  collected = arch: [ (slimDisplay arch).program ] ++ (slimDisplay arch).rules;
  moved = arch: { "/usr/bin/Xvnc" = (slimDisplay arch).program; };
  installed = arch: { ${slimDisplay.keymapPath} = lib.getExe (slimDisplay arch).keymap; };
  files = ''
    mkdir -p "$out/opt/skills"
    cp -R --no-preserve=ownership,mode ${sources.skills}/browser-shell "$out/opt/skills"
  '';
  further = [
    {
      name = "viewer";
      root = viewer;
    }
  ];
  packages = arch: [ novnc ] ++ (slimDisplay arch).packages;
}
