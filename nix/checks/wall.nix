# Runs the attack requests against nginx with the image's configuration and program.
{
  runCommand,
  bash,
  gettext,
  nginx,
  novnc,
  python3,
  crate,
  rootfs,
  sources,
  hostArch,
}:
runCommand "browser-shell-check-wall"
  {
    nativeBuildInputs = [
      bash
      gettext
      nginx
      (python3.withPackages (packages: [
        packages.cryptography
        packages.pyjwt
        packages.websockify
      ]))
    ];
  }
  ''
    bash ${sources.tests}/image/wall ${rootfs.own} ${crate.static hostArch}/bin/browser-shell \
      ${novnc}/share/webapps/novnc | tee "$out"
  ''
