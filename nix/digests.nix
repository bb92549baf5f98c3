# The digests of everything that has the same bytes on every host, one a line: the archives of the program, and the layers of each image
# before they are compressed. An image without a base has a line for its configuration too; of one with a base, only the layers are ours.
# A release builds this on both architectures, stops if a line differs, and publishes both lists, signed: ./apps/verify looks for an image
# in them.
#
#     cat "$(nix build --no-link --print-out-paths .#digests)"
{
  lib,
  runCommand,
  jq,
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
runCommand "browser-shell-digests"
  {
    nativeBuildInputs = [
      jq
      skopeo-nix2container
    ];
  }
  (
    lib.concatMapStrings (
      arch:
      ''
        cat ${archive arch}/*.sha256 >>"$out"
      ''
      + lib.concatStrings (
        lib.mapAttrsToList (name: from: ''
          skopeo --insecure-policy --tmpdir "$PWD" inspect --raw nix:${from} >manifest
          jq --raw-output --arg image ${name}-${arch} --argjson isWhole ${
            lib.boolToString (!from ? inherited)
          } '
            (.layers[] | [.digest[7:], $image, "layer"]), (.config | select($isWhole) | [.digest[7:], $image, "configuration"])
            | "\(.[0])  \(.[1]) \(.[2])"' manifest >>"$out"
        '') (images arch)
      )
    ) (lib.attrNames architectures)
  )
