# The runtime's image, its parts built twice by derivations that differ in name only, has the same digest. Chromium and the fonts
# come by their store paths: that nixpkgs builds these the same twice is its own affair.
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
