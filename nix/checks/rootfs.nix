# nginx, supervisord, Chromium and the agent can read what the image adds.
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
