# Checks the image's own layers in the form that a container engine receives: paths, modes and owners of all files.
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
        (flavor: ''
          skopeo --insecure-policy --tmpdir "$PWD" copy --quiet nix:${
            image {
              inherit arch flavor;
              onBase = false;
            }
          } dir:${arch}-${flavor}
          python3 ${../../tests/image/contents.py} ${arch}-${flavor} ${arch} ${flavor} ${rootfs.own} | tee --append "$out"
        '')
        [
          "node"
          "native"
        ]
    ) (lib.attrNames architectures)}
  ''
