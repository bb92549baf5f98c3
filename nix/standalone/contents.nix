# Checks a standalone image in the form that a registry receives: its configuration, no shell, no setuid file, no unexpected
# program, no broken link, and its sizes, which it prints.
{
  lib,
  runCommand,
  python3,
  skopeo-nix2container,
  zstd,
  architectures,
  oci-image,
}:
{
  # The image of ./default.nix.
  standalone,
  # Name of the image in tests/image/standalone_contents.py.
  kind,
}:
runCommand "browser-shell-check-${kind}-contents"
  {
    nativeBuildInputs = [
      oci-image
      python3
      skopeo-nix2container
      zstd
    ];
  }
  (
    lib.concatMapStrings (arch: ''
      oci-image nix:${standalone.image { inherit arch; }} layout ${arch}
      skopeo --insecure-policy --tmpdir "$PWD" copy --quiet oci:layout:${arch} dir:${arch}
      python3 ${../../tests/image/standalone_contents.py} ${kind} ${arch} ${arch} ${standalone.rootfs.own} ${standalone.environment} |
        tee --append "$out"
      rm -r layout ${arch}
    '') (lib.attrNames architectures)
  )
