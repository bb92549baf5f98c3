# The digests of everything that has the same bytes on every host, one a line: the archives of the program, and the images. Of the
# images with a base, our own layers without it. A release builds this on both architectures, and stops if a line differs.
#
#     cat "$(nix build --no-link --print-out-paths .#digests)"
{
  lib,
  runCommand,
  skopeo-nix2container,
  architectures,
  archive,
  image,
  runtime,
  slim,
}:
let
  images = arch: {
    image = image {
      inherit arch;
      onBase = false;
    };
    native-image = image {
      inherit arch;
      flavor = "native";
      onBase = false;
    };
    runtime-image = runtime.image { inherit arch; };
    slim-image = slim.image { inherit arch; };
  };
in
runCommand "browser-shell-digests" { nativeBuildInputs = [ skopeo-nix2container ]; } (
  lib.concatMapStrings (
    arch:
    ''
      cat ${archive arch}/*.sha256 >>"$out"
    ''
    + lib.concatStrings (
      lib.mapAttrsToList (name: from: ''
        skopeo --insecure-policy --tmpdir "$PWD" inspect --raw nix:${from} >manifest
        echo "$(sha256sum <manifest | cut -c 1-64)  ${name}-${arch}" >>"$out"
      '') (images arch)
    )
  ) (lib.attrNames architectures)
)
