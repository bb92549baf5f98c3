# The programs that a standalone image takes from nixpkgs: Chromium, tini as process 1, and those of the image alone. They and
# their libraries keep their paths in /nix/store.
#
# Chromium comes without nixpkgs' wrapper script, which is for desktops (GTK, Wayland, Kerberos, a setuid sandbox, LD_PRELOAD)
# and would add bash, coreutils and grep. ./chromium.rs does the one part of it that Chromium needs. Libraries for sound and a
# message bus are missing, and Chromium works without them.
# Only the needed files of each package are copied: see ./collect.
{
  lib,
  runCommand,
  bash,
  cacert,
  patchelf,
  architectures,
  nixpkgsDate,
  pkgsOf,
  staticProgram,
}:
{
  # Name of the image.
  name,
  # Further files and programs of an architecture, which are copied with their libraries.
  collected ? _: [ ],
  # Programs of `collected` that were changed here, by their paths in the image. Their paths in the store depend on the host.
  moved ? _: { },
  # Static programs, by their paths in the image.
  installed ? _: { },
}:
arch:
let
  # From the native package set of the target architecture, because a cross-compiled Chromium is not in general use. On a host
  # of the other architecture it comes from a binary cache, and the build runs none of it.
  target = pkgsOf architectures.${arch}.system;
  chromium = target.chromium.browser;
  program = "${chromium}/libexec/chromium/chromium";
  starter = staticProgram {
    inherit arch;
    name = "chromium";
    source = ./chromium.rs;
    variables.PROGRAM = program;
  };
  all = [
    (dirOf program)
    "${target.tini}/bin/tini"
    # The locale in LANG.
    "${target.glibc}/lib/locale/C.utf8"
  ]
  ++ collected arch;
in
runCommand "${name}-programs-${arch}"
  {
    nativeBuildInputs = [
      bash
      patchelf
    ];
    # The copied files contain store paths; without this, Nix would add those packages to the image.
    __structuredAttrs = true;
    unsafeDiscardReferences.out = true;
    passthru = {
      inherit chromium;
      packages = [
        chromium
        target.tini
        target.glibc
        # The compiler's own libraries.
        target.stdenv.cc.cc
      ];
    };
  }
  ''
    bash ${./collect} "$out" ${lib.escapeShellArgs all}

    # One language is enough: agents and pages do not read Chromium's own windows.
    locales=$out${dirOf program}/locales
    find "$locales" -type f ! -name en-US.pak -delete
    [ -e "$locales/en-US.pak" ] || { echo "Chromium's en-US.pak is missing" >&2 && exit 1; }

    install -D -m 755 -t "$out/usr/bin" ${starter}/bin/chromium
    ln -s ${target.tini}/bin/tini "$out/usr/bin/tini"
    # For `browser-shell doctor`, because no file of an image has a time.
    mkdir -p "$out/usr/share/browser-shell"
    echo ${nixpkgsDate} >"$out/usr/share/browser-shell/chromium-date"
    install -D -m 644 ${cacert}/etc/ssl/certs/ca-bundle.crt "$out/etc/ssl/certs/ca-certificates.crt"
    ${lib.concatStrings (
      lib.mapAttrsToList (path: from: ''
        mkdir -p "$out${dirOf path}"
        mv "$out${from}" "$out${path}"
        rmdir --parents --ignore-fail-on-non-empty "$out${dirOf from}"
      '') (moved arch)
      ++ lib.mapAttrsToList (path: file: ''
        install -D -m 755 ${file} "$out${path}"
      '') (installed arch)
    )}
  ''
