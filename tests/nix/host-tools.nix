# The parts of nix/ with the tools of this machine (bash, coreutils, node, jq, nginx, ...) in place of those from nixpkgs, for
# machines that can neither fetch nor build packages of nixpkgs, but can read its library.
#
#     nix build --impure --expr 'let
#         host = import ./tests/nix/host-tools.nix { nixpkgs = FOLDER; crane = FOLDER; program = FILE; };
#       in [ host.scope.rootfs.own (host.check "wall") (host.app "update-base") ]'
#
# It shows that the build's own steps work, but not that they work with the tools of the locked nixpkgs. Builds must be able to
# read /usr, /bin and /lib (Nix's option sandbox-paths).
{
  nixpkgs,
  crane,
  # The program, built by cargo. null: crane builds it with `rust`.
  program ? throw "this needs `program`",
  # Rust with the musl targets, such as a toolchain's folder of rustup.
  rust ? throw "this needs `rust`",
  # For the standalone images: a static tini, and a folder with Debian's fonts (liberation2, noto).
  tini ? throw "this needs `tini`",
  fonts ? throw "this needs `fonts`",
}:
let
  lib = import (nixpkgs + "/lib");
  host =
    name:
    derivation {
      name = "host-${name}";
      system = builtins.currentSystem;
      builder = "/bin/sh";
      args = [
        "-c"
        ''
          /bin/mkdir $out
          if [ -e /usr/sbin/${name} ]; then
            /bin/mkdir $out/bin && /bin/ln -s /usr/sbin/${name} $out/bin
          else
            /bin/ln -s /usr/bin $out/bin
          fi
        ''
      ];
    }
    // {
      pname = name;
      # Required of shellcheck.
      compiler.bootstrapAvailable = true;
      meta.mainProgram = name;
    };
  cacert = derivation {
    name = "host-cacert";
    system = builtins.currentSystem;
    builder = "/bin/sh";
    bundle = builtins.path {
      path = /etc/ssl/certs/ca-certificates.crt;
      name = "bundle";
    };
    args = [
      "-c"
      "/bin/mkdir -p $out/etc/ssl/certs && /bin/cp $bundle $out/etc/ssl/certs/ca-bundle.crt"
    ];
  };
  pkgs = import nixpkgs {
    localSystem.system = builtins.currentSystem;
    config = { };
    stdenvStages =
      args: import (nixpkgs + "/pkgs/stdenv/native") (builtins.removeAttrs args [ "crossOverlays" ]);
    overlays = [
      (
        _: previous:
        lib.genAttrs (lib.splitString " " (lib.fileContents ./host-tools)) host
        // {
          inherit cacert;
          cargo = toolchain;
          rustc = toolchain;
          rustPlatform = previous.makeRustPlatform {
            cargo = toolchain;
            rustc = toolchain;
          };
          # For crane's own tools.
          cargo-auditable.meta.broken = true;
          # The machine's compiler may not know all flags of nixpkgs' wrapper.
          stdenv = previous.stdenvAdapters.addAttrsToDerivation {
            hardeningDisable = [ "all" ];
          } previous.stdenv;
          runtimeShell = "/bin/bash";
          shellcheck-minimal = host "shellcheck";
        }
      )
    ];
  };
  toolchain =
    pkgs.runCommand "host-rust" { } ''
      cp -R --no-preserve=ownership ${
        builtins.path {
          path = rust;
          name = "rust";
          # Without the documentation, which is most of it.
          filter = path: _: baseNameOf path != "share";
        }
      } "$out"
    ''
    // {
      # Required of rustc.
      targetPlatforms = lib.platforms.all;
      tier1TargetPlatforms = lib.platforms.all;
      badTargetPlatforms = [ ];
    };
  # Debian's programs with the folders of nixpkgs' packages, so that an image includes them in the same way.
  copied =
    name: from: to:
    pkgs.runCommand name { } ''
      mkdir -p "$out/${dirOf to}"
      cp -R --no-preserve=ownership ${from} "$out/${to}"
    '';
  debian = {
    chromium.browser = copied "chromium-unwrapped-0" "/usr/lib/chromium" "libexec/chromium" // {
      version = "0";
    };
    glibc = copied "glibc-0" "/usr/lib/locale/C.utf8" "lib/locale/C.utf8";
    tigervnc = copied "tigervnc-0" "/usr/bin/Xtigervnc" "bin/Xvnc" // {
      version = "0";
    };
    inherit xkeyboard_config;
    tini = copied "tini-0" (toString (
      builtins.path {
        path = tini;
        name = "tini";
      }
    )) "bin/tini";
  };
  xkeyboard_config = copied "xkeyboard-config-0" "/usr/share/X11/xkb" "share/X11/xkb";
  someFonts = copied "fonts-0" (toString (
    builtins.path {
      path = fonts;
      name = "fonts";
    }
  )) "share/fonts";

  parts = import ../../nix {
    inherit pkgs;
    pkgsOf = _: debian;
    mkCraneLib = pkgs': import crane { pkgs = pkgs'; };
    rustBin = throw "the toolchain is `rust`";
    nix2container = throw "layers need nix2container itself";
    skopeo-nix2container = throw "so do images";
    revision = "unknown";
    lastModifiedDate = "20260101000000";
    nixpkgsLastModifiedDate = "20260101000000";
  };
  noImage =
    _:
    pkgs.writeText "no-image" ""
    // {
      imageName = "none";
      imageTag = "none";
    };
  scope = parts.scope.overrideScope (
    _: _:
    {
      liberation_ttf = someFonts;
      noto-fonts = someFonts;
      noto-fonts-cjk-sans = someFonts;
      noto-fonts-color-emoji = someFonts;
      inherit toolchain xkeyboard_config;
    }
    // lib.optionalAttrs (program != null) {
      crate.static =
        _:
        pkgs.runCommand "host-program" { } ''
          install -D -m 755 ${
            builtins.path {
              path = program;
              name = "browser-shell";
            }
          } "$out/bin/browser-shell"
        '';
    }
    // {
      # The apps' scripts are checked when they are built, but cannot run with these.
      image = noImage;
      standaloneImage = _: noImage;
      skopeo-nix2container = pkgs.skopeo;
      python3 = pkgs.python3 // {
        withPackages = _: pkgs.python3;
      };
      novnc = pkgs.runCommand "host-novnc" { } ''
        mkdir -p "$out/share/webapps" && ln -s /usr/share/novnc "$out/share/webapps/novnc"
      '';
      # Without cargo-about, the SPDX list and the sources of packages.
      licenses = {
        program = pkgs.runCommand "no-licenses" { } ''
          mkdir "$out" && touch "$out"/{crates.txt,musl.txt,rust-std.html}
        '';
        viewer = _: "";
        fonts = "";
        packages = _: pkgs.runCommand "no-licenses" { } "mkdir $out";
      };
      # Without the crates.
      standaloneSbom = _: _: null;
    }
  );
  hostArch = if builtins.currentSystem == "aarch64-linux" then "arm64" else "amd64";
in
{
  inherit scope;
  check = name: scope.callPackage (../../nix/checks + "/${name}.nix") { inherit hostArch; };
  app = name: scope.callPackage (../../nix/apps + "/${name}.nix") { };
}
