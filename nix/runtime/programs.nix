# The programs that the runtime's image takes from nixpkgs: Chromium, and tini as process 1. They and their libraries keep
# their paths in /nix/store.
#
# Chromium comes without nixpkgs' wrapper script, which is for desktops (GTK, Wayland, Kerberos, a setuid sandbox, LD_PRELOAD)
# and would add bash, coreutils and grep. ./launcher.c does the one part of it that Chromium needs. Libraries for a screen,
# sound and a message bus are missing, and Chromium works without them.
# Only the needed files of each package are copied: see ./collect.
{
  lib,
  runCommand,
  bash,
  cacert,
  patchelf,
  architectures,
  pkgsOf,
  runtimeLauncher,
}:
arch:
let
  # From the native package set of the target architecture, because a cross-compiled Chromium is not in general use. On a host
  # of the other architecture it comes from a binary cache, and the build runs none of it.
  target = pkgsOf architectures.${arch}.system;
  chromium = target.chromium.browser;
  program = "${chromium}/libexec/chromium/chromium";
  launcher = runtimeLauncher { inherit arch program; };
  programs = [
    (dirOf program)
    "${target.tini}/bin/tini"
    # The locale in LANG.
    "${target.glibc}/lib/locale/C.utf8"
  ];
in
runCommand "browser-shell-runtime-programs-${arch}"
  {
    nativeBuildInputs = [
      bash
      patchelf
    ];
    # The copied files contain store paths; without this, Nix would add those packages to the image.
    __structuredAttrs = true;
    unsafeDiscardReferences.out = true;
    passthru = { inherit chromium; };
  }
  ''
    bash ${./collect} "$out" ${lib.escapeShellArgs programs}

    # One language is enough, because Chromium's windows are not visible.
    locales=$out${dirOf program}/locales
    find "$locales" -type f ! -name en-US.pak -delete
    [ -e "$locales/en-US.pak" ] || { echo "Chromium's en-US.pak is missing" >&2 && exit 1; }

    install -D -m 755 -t "$out/usr/bin" ${launcher}/bin/chromium
    ln -s ${target.tini}/bin/tini "$out/usr/bin/tini"
    install -D -m 644 ${cacert}/etc/ssl/certs/ca-bundle.crt "$out/etc/ssl/certs/ca-certificates.crt"
  ''
