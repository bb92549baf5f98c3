# The parts of nix/ over the tools of this machine (bash, coreutils, node, jq, nginx, ...), in place of the ones that nixpkgs
# would build: for machines on which nothing of nixpkgs can be fetched or built, but its library can be read.
#
#     nix build --impure --file tests/nix/host-tools.nix --argstr nixpkgs FOLDER --argstr crane FOLDER rootfs.own
#
# It decides nothing about the image. What it builds shows that the build's own steps work; not that they work with the
# tools of the locked nixpkgs. Builds must be able to read /usr, /bin and /lib (Nix's option sandbox-paths).
{
  nixpkgs,
  crane,
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
        "/bin/mkdir $out && /bin/ln -s /usr/bin $out/bin && /bin/ln -s /usr/share $out/share"
      ];
    }
    // {
      pname = name;
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
      (_: _: lib.genAttrs (lib.splitString " " (lib.fileContents ./host-tools)) host // { inherit cacert; })
    ];
  };
in
import ../../nix {
  inherit pkgs;
  mkCraneLib = pkgs': import crane { pkgs = pkgs'; };
  nix2container = throw "layers need nix2container itself";
  skopeo-nix2container = throw "layers need nix2container itself";
  revision = "unknown";
  lastModifiedDate = "20260101000000";
}
