# nix run .#serve [-- FLAG...]: `browser-shell serve` with the Chromium, display and viewer of nixpkgs, so that nothing needs to be
# installed. Its engine is `cdp`.
{
  writeShellApplication,
  chromium,
  crate,
  hostArch,
  lib,
  novnc,
  tigervnc,
}:
writeShellApplication {
  name = "serve";
  text = ''
    export BROWSER_SHELL_CHROMIUM=''${BROWSER_SHELL_CHROMIUM:-${lib.getExe' chromium "chromium"}}
    export BROWSER_SHELL_XVNC=''${BROWSER_SHELL_XVNC:-${lib.getExe' tigervnc "Xvnc"}}
    export BROWSER_SHELL_NOVNC=''${BROWSER_SHELL_NOVNC:-${novnc}/share/webapps/novnc}
    exec ${lib.getExe (crate.static hostArch)} serve "$@"
  '';
  meta.description = "Serves the tool and the screen with the programs of nixpkgs";
}
