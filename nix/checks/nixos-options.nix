# Checks that docs/nixos-options.md is the page that the module's options give.
{
  runCommand,
  diffutils,
  writeText,
  nixosOptionsPage,
  hostArch,
}:
runCommand "browser-shell-check-nixos-options" { nativeBuildInputs = [ diffutils ]; } ''
  diff -u ${../../docs/nixos-options.md} ${writeText "nixos-options.md" nixosOptionsPage}
  touch "$out"
''
