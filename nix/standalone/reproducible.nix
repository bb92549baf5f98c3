# Builds the parts of a standalone image twice, with derivations that differ only in an unused variable, and compares the digests.
# Packages of nixpkgs are not rebuilt: their reproducibility depends on nixpkgs.
{
  lib,
  runCommand,
  skopeo-nix2container,
  architectures,
  crate,
  overrideScope,
}:
{
  # Name of the check's image.
  kind,
  # The image of ./default.nix, from the parts.
  choose,
}:
let
  scopeOf =
    round:
    overrideScope (
      _: _: {
        runCommand = name: env: runCommand name (env // { inherit round; });
        crate = crate // {
          static =
            arch:
            (crate.static arch).overrideAttrs (_: {
              inherit round;
            });
        };
      }
    );
  imageOf = round: (choose (scopeOf round)).image;
in
runCommand "browser-shell-check-${kind}-reproducible"
  { nativeBuildInputs = [ skopeo-nix2container ]; }
  (
    lib.concatMapStrings (arch: ''
      skopeo --insecure-policy --tmpdir "$PWD" inspect --raw nix:${
        imageOf "first" { inherit arch; }
      } >first
      skopeo --insecure-policy --tmpdir "$PWD" inspect --raw nix:${
        imageOf "second" { inherit arch; }
      } >second
      cmp first second
      echo "${arch} $(sha256sum <first)" | tee --append "$out"
    '') (lib.attrNames architectures)
  )
