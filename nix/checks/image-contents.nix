# Checks the image's own layers in the form that a registry receives: paths, modes and owners of all files, and sizes. It prints
# the sizes.
{
  lib,
  runCommand,
  python3,
  skopeo-nix2container,
  zstd,
  architectures,
  image,
  oci-image,
  rootfs,
  hostArch,
}:
runCommand "browser-shell-check-image-contents"
  {
    nativeBuildInputs = [
      oci-image
      python3
      skopeo-nix2container
      zstd
    ];
  }
  ''
    ${lib.concatMapStrings (
      arch:
      lib.concatMapStrings
        (flavor: ''
          oci-image nix:${
            image {
              inherit arch flavor;
              onBase = false;
            }
          } layout ${arch}-${flavor}
          skopeo --insecure-policy --tmpdir "$PWD" copy --quiet oci:layout:${arch}-${flavor} dir:${arch}-${flavor}
          python3 ${../../tests/image/contents.py} ${arch}-${flavor} ${arch} ${flavor} ${rootfs.own} | tee --append "$out"
        '')
        [
          "node"
          "native"
        ]
    ) (lib.attrNames architectures)}
  ''
