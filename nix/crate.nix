# The program as a static binary for each architecture, and the checks of its source.
# The build fails if the binary is dynamically linked.
{
  lib,
  architectures,
  craneLib,
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

  # Cargo requires the source files of all targets, also of those that it does not build.
  otherTargets = map (target: target.path or "benches/${target.name}.rs") (
    manifest.test ++ manifest.bench ++ manifest.example
  );
  emptyTargets = ''
    for file in ${lib.escapeShellArgs otherTargets}; do
      mkdir -p "$(dirname "$file")"
      echo 'fn main() {}' >"$file"
    done
  '';

  # Always for a named target and with ./rustc-wrapper, so that both hosts build the same binary. .cargo/config.toml names the linker.
  static =
    arch:
    let
      arguments = common // {
        src = sources.program;
        cargoExtraArgs = "--locked --bin ${manifest.package.name}";
        CARGO_BUILD_TARGET = architectures.${arch}.target;
        CARGO_BUILD_RUSTFLAGS = "-C target-feature=+crt-static";
        RUSTC_WRAPPER = "${./rustc-wrapper}";
        # Replacing the folder's name afterwards would hide what still depends on it.
        doNotRemoveReferencesToVendorDir = true;
        # The checks below run the tests, on the host.
        doCheck = false;
        # rustc strips the program. The host's tools would change only programs of their own architecture.
        dontStrip = true;
        dontPatchELF = true;
      };
    in
    craneLib.buildPackage (
      arguments
      // {
        cargoArtifacts = craneLib.buildDepsOnly arguments;
        preBuild = emptyTargets;
        nativeBuildInputs = [ binutils-unwrapped ];
        postInstall = ''
          program=$out/bin/${manifest.package.name}
          readelf --program-headers --wide "$program" >headers
          readelf --dynamic --wide "$program" >dynamic
          if grep -q INTERP headers || grep -q NEEDED dynamic; then
            echo "$program is not static" >&2
            exit 1
          fi
          # A name in the function iconv: sbom/vex.json states that it is not there.
          if grep --quiet --text ksc5601 "$program"; then
            echo "$program contains iconv" >&2
            exit 1
          fi
        '';
        # The image has no /nix/store.
        allowedReferences = [ ];
        meta.mainProgram = manifest.package.name;
      }
    );

  # --- checks, on the host ---

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
      patchShebangs dev scripts benches tests rootfs/generation
      find crates src tests -name '*.rs' -exec sed -i \
        -e 's|/bin/sleep|${coreutils}/bin/sleep|g' \
        -e 's|\(/usr/local/sbin:/usr/local/bin:/usr/sbin:\)\?/usr/bin:\(/sbin:\)\?/bin|${tools}|g' {} +
    '';
  };
in
{
  inherit static emptyTargets;

  checks = {
    clippy = craneLib.cargoClippy (
      testing // { cargoClippyExtraArgs = "--workspace --all-targets -- --deny warnings"; }
    );
    rustdoc = craneLib.cargoDoc (
      testing
      // {
        cargoDocExtraArgs = "--workspace --no-deps --document-private-items";
        RUSTDOCFLAGS = "--deny warnings";
      }
    );
    fmt = craneLib.cargoFmt (common // { src = sources.everything; });
    deny = craneLib.cargoDeny (common // { src = sources.everything; });
    nextest = craneLib.cargoNextest (
      running // { cargoNextestExtraArgs = "--workspace --no-fail-fast"; }
    );
    doctests = craneLib.cargoDocTest (running // { cargoDocTestExtraArgs = "--workspace"; });
  }
  // lib.mapAttrs' (arch: _: lib.nameValuePair "static-${arch}" (static arch)) architectures;
}
