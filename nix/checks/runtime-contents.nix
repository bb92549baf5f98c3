# What the runtime's image holds and how it starts, as a container engine gets it: no shell, nothing setuid, no program that is not
# named, everything that something links to or is linked against.
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
