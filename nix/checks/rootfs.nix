# Checks that nginx, supervisord, Chromium and the hub can parse the image's files, and that the skill is complete.
{
  runCommand,
  bash,
  gawk,
  gettext,
  jq,
  nginx,
  python3,
  rootfs,
  sources,
  hostArch,
}:
runCommand "browser-shell-check-rootfs"
  {
    nativeBuildInputs = [
      bash
      gawk
      gettext
      jq
      nginx
      python3
    ];
  }
  ''
    bash ${sources.tests}/image/rootfs ${rootfs.own} | tee "$out"
  ''
