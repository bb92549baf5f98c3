# Builds the parts of the runtime's image twice, with derivations that differ only in name, and compares the digests. Chromium
# and the fonts are not rebuilt: their reproducibility depends on nixpkgs.
{
  lib,
  runCommand,
  skopeo-nix2container,
  architectures,
  crate,
  runtimeFonts,
  runtimeImage,
  runtimePrograms,
  runtimeRootfs,
  hostArch,
}:
let
  again =
    let
      second = env: env // { round = "second"; };
      runSecond = name: env: runCommand name (second env);
      programs = runtimePrograms.override { runCommand = runSecond; };
    in
    runtimeImage.override {
      runtimePrograms = programs;
      runtimeRootfs = runtimeRootfs.override {
        crate = crate // {
          static = arch: (crate.static arch).overrideAttrs (_: second { });
        };
        runCommand = runSecond;
        runtimePrograms = programs;
        runtimeFonts = runtimeFonts.override { runCommand = runSecond; };
      };
    };
in
runCommand "browser-shell-check-runtime-reproducible"
  { nativeBuildInputs = [ skopeo-nix2container ]; }
  (
    lib.concatMapStrings (arch: ''
      skopeo --insecure-policy --tmpdir "$PWD" inspect --raw nix:${runtimeImage { inherit arch; }} >first
      skopeo --insecure-policy --tmpdir "$PWD" inspect --raw nix:${again { inherit arch; }} >second
      cmp first second
      echo "${arch} $(sha256sum <first)" | tee --append "$out"
    '') (lib.attrNames architectures)
  )
