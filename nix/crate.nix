# The program: static for both architectures, and what must hold of its source.
# Must never link a library of the machine; a build that would, fails.
{
  lib,
  pkgs,
  mkCraneLib,
  architectures,
  sources,
  version,
  bash,
  binutils-unwrapped,
  coreutils,
  nodejs,
  openssl,
  procps,
  python3,
  util-linux,
}:
let
  manifest = lib.importTOML ../Cargo.toml;
  common = {
    pname = manifest.package.name;
    inherit version;
    strictDeps = true;
  };

  # Cargo wants every target's file to be there, also of those that are not built.
  others = map (target: target.path or "benches/${target.name}.rs") (
    manifest.test ++ manifest.bench ++ manifest.example
  );

  # The same for either architecture from either host: the package set is always a cross one.
  static =
    arch:
    let
      craneLib = mkCraneLib pkgs.pkgsCross.${architectures.${arch}.cross};
      arguments = common // {
        src = sources.program;
        cargoExtraArgs = "--locked --bin ${manifest.package.name}";
        CARGO_BUILD_RUSTFLAGS = "-C target-feature=+crt-static";
        # the tests run on their own, for the host
        doCheck = false;
      };
    in
    craneLib.buildPackage (
      arguments
      // {
        cargoArtifacts = craneLib.buildDepsOnly arguments;
        preBuild = ''
          for file in ${lib.escapeShellArgs others}; do
            mkdir -p "$(dirname "$file")"
            echo 'fn main() {}' >"$file"
          done
        '';
        nativeBuildInputs = [ binutils-unwrapped ];
        postInstall = ''
          program=$out/bin/${manifest.package.name}
          readelf --program-headers --wide "$program" >headers
          readelf --dynamic --wide "$program" >dynamic
          if grep -q INTERP headers || grep -q NEEDED dynamic; then
            echo "$program is not static" >&2
            exit 1
          fi
        '';
        # nothing of the build may come along: the image has no /nix/store
        allowedReferences = [ ];
        meta.mainProgram = manifest.package.name;
      }
    );

  # --- checks, for the host ---

  craneLib = mkCraneLib pkgs;
  testing = common // {
    src = sources.everything;
    CARGO_PROFILE = "dev";
    cargoArtifacts = craneLib.buildDepsOnly (
      common
      // {
        src = sources.program;
        CARGO_PROFILE = "dev";
      }
    );
  };

  # Tests start small programs by their paths on any other Linux; a build has no folders for them.
  tools = lib.makeBinPath [
    bash
    coreutils
    procps
    util-linux
  ];
  running = testing // {
    nativeBuildInputs = [
      nodejs
      openssl
      procps
      python3
      util-linux
    ];
    postPatch = ''
      patchShebangs dev benches tests rootfs/generation
      find src tests -name '*.rs' -exec sed -i \
        -e 's|/bin/sleep|${coreutils}/bin/sleep|g' \
        -e 's|\(/usr/local/sbin:/usr/local/bin:/usr/sbin:\)\?/usr/bin:\(/sbin:\)\?/bin|${tools}|g' {} +
    '';
  };
in
{
  inherit static others;

  checks = {
    clippy = craneLib.cargoClippy (
      testing // { cargoClippyExtraArgs = "--all-targets -- --deny warnings"; }
    );
    rustdoc = craneLib.cargoDoc (
      testing
      // {
        cargoDocExtraArgs = "--no-deps --document-private-items";
        RUSTDOCFLAGS = "--deny warnings";
      }
    );
    fmt = craneLib.cargoFmt (common // { src = sources.everything; });
    deny = craneLib.cargoDeny (common // { src = sources.everything; });
    nextest = craneLib.cargoNextest (running // { cargoNextestExtraArgs = "--no-fail-fast"; });
    doctests = craneLib.cargoDocTest running;
  }
  // lib.mapAttrs' (arch: _: lib.nameValuePair "static-${arch}" (static arch)) architectures;
}
