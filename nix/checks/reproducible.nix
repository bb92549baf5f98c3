# Builds the image's own layers twice, with derivations that differ only in name, and compares the digests. The base is
# pinned by digest. To rebuild and compare the whole image: nix build --rebuild .#image-amd64
{
  lib,
  runCommand,
  skopeo-nix2container,
  architectures,
  crate,
  image,
  rootfs,
  hostArch,
}:
let
  again =
    let
      second = env: env // { round = "second"; };
    in
    image.override {
      rootfs = rootfs.override {
        crate = crate // {
          static = arch: (crate.static arch).overrideAttrs (_: second { });
        };
        runCommand = name: env: runCommand name (second env);
      };
    };
in
runCommand "browser-shell-check-reproducible" { nativeBuildInputs = [ skopeo-nix2container ]; } (
  lib.concatMapStrings (
    arch:
    let
      arguments = {
        inherit arch;
        onBase = false;
      };
    in
    ''
      skopeo --insecure-policy --tmpdir "$PWD" inspect --raw nix:${image arguments} >first
      skopeo --insecure-policy --tmpdir "$PWD" inspect --raw nix:${again arguments} >second
      cmp first second
      echo "${arch} $(sha256sum <first)" | tee --append "$out"
    ''
  ) (lib.attrNames architectures)
)
