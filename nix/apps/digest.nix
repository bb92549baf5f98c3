# nix run .#digest [-- FILE...]: prints the digest of the index that `push` would push. It also writes the digests into the lines of
# the image in each FILE, such as deploy/release/release.env. `runtime-digest` does the same for the runtime's image.
{
  lib,
  writeShellApplication,
  coreutils,
  gnugrep,
  gnused,
  oci-layout,
  name ? "digest",
}:
let
  kind = lib.removeSuffix "digest" name;
in
writeShellApplication {
  inherit name;
  runtimeInputs = [
    coreutils
    gnugrep
    gnused
    oci-layout
  ];
  text = ''
    name=${name} variable=BROWSER_SHELL_${lib.toUpper (lib.replaceStrings [ "-" ] [ "_" ] kind)}IMAGE
    ${builtins.readFile ./digest}
  '';
  meta.description = "Prints the digest of the image index and writes it into files";
}
