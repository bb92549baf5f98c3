# nix run .#versions: prints what the images take from nixpkgs, with versions (../versions.nix).
{
  writeShellApplication,
  writeText,
  coreutils,
  versions,
}:
writeShellApplication {
  name = "versions";
  runtimeInputs = [ coreutils ];
  text = ''
    exec cat ${writeText "versions" versions}
  '';
  meta.description = "Prints the versions of what the images take from nixpkgs";
}
