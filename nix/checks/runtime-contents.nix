# Checks the runtime's image in the form that a container engine receives: its configuration, no shell, no setuid file, no
# unexpected program, no broken link.
{
  lib,
  runCommand,
  python3,
  skopeo-nix2container,
  architectures,
  runtimeImage,
  runtimeRootfs,
  hostArch,
}:
runCommand "browser-shell-check-runtime-contents"
  {
    nativeBuildInputs = [
      python3
      skopeo-nix2container
    ];
  }
  (
    lib.concatMapStrings (arch: ''
      skopeo --insecure-policy --tmpdir "$PWD" copy --quiet nix:${runtimeImage { inherit arch; }} dir:${arch}
      python3 ${../../tests/image/runtime_contents.py} ${arch} ${arch} ${runtimeRootfs.own} ${../runtime/image.env} |
        tee --append "$out"
      rm -r ${arch}
    '') (lib.attrNames architectures)
  )
