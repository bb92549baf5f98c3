# nix run .#nixos-options [-- FILE]: writes the page of the module's options to FILE (docs/nixos-options.md by default).
{
  writeShellApplication,
  writeText,
  coreutils,
  nixosOptionsPage,
}:
writeShellApplication {
  name = "nixos-options";
  runtimeInputs = [ coreutils ];
  text = ''
    install -m 644 ${writeText "nixos-options.md" nixosOptionsPage} "''${1:-docs/nixos-options.md}"
  '';
  meta.description = "Writes docs/nixos-options.md";
}
