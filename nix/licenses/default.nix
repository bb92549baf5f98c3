# The license texts of what the archive and the images contain. docs/licenses.md says where each one is. A license that is not
# allowed fails the build: about.toml for crates, allowed.json for packages of nixpkgs, font-notices for fonts.
{
  craneLib,
  runCommand,
  bash,
  cargo-about,
  gnutar,
  gzip,
  jq,
  musl,
  python3,
  spdx-license-list-data,
  crate,
  sources,
  toolchain,
  version,
}:
let
  texts = "${spdx-license-list-data.text}/text";
  python = python3.withPackages (packages: [ packages.fonttools ]);

  crates = craneLib.mkCargoDerivation {
    pname = "browser-shell-crate-licenses";
    inherit version;
    src = sources.program;
    cargoArtifacts = null;
    doInstallCargoArtifacts = false;
    nativeBuildInputs = [
      bash
      cargo-about
    ];
    preBuild = crate.emptyTargets;
    buildPhaseCargoCommand = ''
      bash ${./.}/crates crates.txt
    '';
    installPhaseCommand = ''
      cp crates.txt "$out"
    '';
  };
in
{
  # The program's: its crates, and what the compiler links into it.
  program =
    runCommand "browser-shell-program-licenses"
      {
        nativeBuildInputs = [
          gnutar
          gzip
        ];
        allowedReferences = [ ];
      }
      ''
        install -D -m 644 ${crates} "$out/crates.txt"
        install -D -m 644 ${toolchain}/share/doc/rust/COPYRIGHT-library.html "$out/rust-std.html"
        tar --extract --to-stdout --file ${musl.src} --wildcards '*/COPYRIGHT' >"$out/musl.txt"
      '';

  # Commands that add the licenses of noVNC to $out.
  viewer = novnc: ''
    install -D -m 644 -t "$out/usr/share/doc/novnc" ${novnc.src}/{AUTHORS,LICENSE.txt} ${novnc.src}/docs/LICENSE.*
    # Of its images.
    install -m 644 ${texts}/CC-BY-SA-3.0.txt "$out/usr/share/doc/novnc/LICENSE.CC-BY-SA-3.0"
  '';

  # Commands that add the licenses of the fonts in $out to it.
  fonts = ''
    install -D -m 644 ${texts}/OFL-1.1.txt "$out/usr/share/doc/fonts/OFL-1.1.txt"
    ${python}/bin/python3 ${./font-notices} "$out/usr/share/fonts" >"$out/usr/share/doc/fonts/notices.txt"
  '';

  # Of the packages of nixpkgs in a bill of materials.
  packages =
    sbom:
    runCommand "browser-shell-package-licenses"
      {
        nativeBuildInputs = [
          bash
          jq
        ];
        allowedReferences = [ ];
      }
      ''
        bash ${./packages} ${sbom} ${texts} ${./allowed.json} "$out"
      '';
}
