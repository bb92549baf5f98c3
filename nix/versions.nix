# What the standalone images take from nixpkgs, with versions: one `NAME VERSION` a line. The version of nixpkgs is its date.
{
  lib,
  architectures,
  cacert,
  liberation_ttf,
  nixpkgsDate,
  noto-fonts,
  noto-fonts-cjk-sans,
  noto-fonts-color-emoji,
  novnc,
  pkgsOf,
}:
let
  # The versions of both architectures are the same.
  target = pkgsOf architectures.amd64.system;
  packages = {
    inherit
      cacert
      liberation_ttf
      noto-fonts
      noto-fonts-cjk-sans
      noto-fonts-color-emoji
      novnc
      ;
    inherit (target)
      glibc
      tigervnc
      tini
      xkeyboard_config
      ;
    chromium = target.chromium.browser;
  };
in
lib.concatStrings (
  lib.mapAttrsToList (name: version: "${name} ${version}\n") (
    lib.mapAttrs (_: lib.getVersion) packages // { nixpkgs = nixpkgsDate; }
  )
)
