# The archive of the program for Linux without Nix or a container engine: ./archive with the static binary of an architecture.
{
  runCommand,
  bash,
  gnutar,
  gzip,
  crate,
  licenses,
  sources,
  version,
}:
arch:
runCommand "browser-shell-${version}-linux-${arch}"
  {
    nativeBuildInputs = [
      bash
      gnutar
      gzip
    ];
  }
  ''
    mkdir "$out"
    root=${sources.archive} bash ${./archive} ${crate.static arch}/bin/browser-shell ${licenses.program} ${version} ${arch} "$out"
  ''
