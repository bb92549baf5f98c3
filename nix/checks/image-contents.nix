# What our layers hold, as a container engine gets them: every file at its path, with its mode and owner, and nothing else.
{
  lib,
  runCommand,
  python3,
  skopeo-nix2container,
  architectures,
  image,
  rootfs,
  hostArch,
}:
runCommand "browser-shell-check-image-contents"
  {
    nativeBuildInputs = [
      python3
      skopeo-nix2container
    ];
  }
  ''
    ${lib.concatMapStrings (
      arch:
      lib.concatMapStrings
        (flavour: ''
          skopeo --insecure-policy --tmpdir "$PWD" copy --quiet nix:${
            image {
              inherit arch flavour;
              onBase = false;
            }
          } dir:${arch}-${flavour}
          python3 ${../../tests/image/contents.py} ${arch}-${flavour} ${arch} ${flavour} ${rootfs.own} | tee --append "$out"
        '')
        [
          "node"
          "native"
        ]
    ) (lib.attrNames architectures)}
  ''
