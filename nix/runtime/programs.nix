# What nixpkgs brings to the runtime's image: Chromium, and tini to be the first process, with what they are linked against, at
# their own paths in /nix/store.
#
# Chromium is the browser itself, without the shell script that nixpkgs puts around it: that one is for desktops (it adds folders
# of GTK, Wayland, Kerberos and a setuid sandbox, and sets LD_PRELOAD), and would bring bash, coreutils and grep along. The one thing
# of it that the browser does not live without is in ./launcher.c. What it looks for by name and does not find, it does without:
# there is no screen, no sound and no message bus here.
# Must never hold a whole package because a file of it is needed: see ./collect.
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
  # From nixpkgs' package set for that architecture, whichever machine builds: a cross-built Chromium is one that nobody uses.
  # On a machine of the other architecture it comes from a binary cache, and nothing of it has to run.
  target = pkgsOf architectures.${arch}.system;
  chromium = target.chromium.browser;
  program = "${chromium}/libexec/chromium/chromium";
  launcher = runtimeLauncher { inherit arch program; };
  programs = [
    (dirOf program)
    "${target.tini}/bin/tini"
    # the one locale that LANG names
    "${target.glibc}/lib/locale/C.utf8"
  ];
in
runCommand "browser-shell-runtime-programs-${arch}"
  {
    nativeBuildInputs = [
      bash
      patchelf
    ];
    # What is copied names its own packages, which must not follow it into the image.
    __structuredAttrs = true;
    unsafeDiscardReferences.out = true;
    passthru = { inherit chromium; };
  }
  ''
    bash ${./collect} "$out" ${lib.escapeShellArgs programs}

    # Chromium's own words in one language are enough where nobody sees its windows
    locales=$out${dirOf program}/locales
    find "$locales" -type f ! -name en-US.pak -delete
    [ -e "$locales/en-US.pak" ] || { echo "Chromium has no words" >&2 && exit 1; }

    install -D -m 755 -t "$out/usr/bin" ${launcher}/bin/chromium
    ln -s ${target.tini}/bin/tini "$out/usr/bin/tini"
    install -D -m 644 ${cacert}/etc/ssl/certs/ca-bundle.crt "$out/etc/ssl/certs/ca-certificates.crt"
  ''
