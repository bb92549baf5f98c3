# The bill of materials of an image in CycloneDX: linked crates, npm packages, packages from nixpkgs, and the base by its
# digest. The contents of the base are not listed.
# It has no date and no random number, so it is reproducible.
{
  lib,
  craneLib,
  writeText,
  jq,
  agentBrowser,
  architectures,
  base,
  crate,
  revision,
  sources,
  version,
}:
{
  arch,
  # Flavor of ./agent-browser in the image; null if it has none.
  flavor ? "node",
  name ? "browser-shell",
  onBase ? true,
  # Folders with a nix/store that contains files of nixpkgs packages.
  stores ? [ ],
  # Packages of nixpkgs whose files are at other paths.
  packages ? [ ],
}:
let
  lock = lib.importTOML ../Cargo.lock;

  checksums = lib.listToAttrs (
    map (package: lib.nameValuePair "${package.name}@${package.version}" package.checksum) (
      lib.filter (package: package ? checksum) lock.package
    )
  );

  hexOf =
    integrity:
    builtins.convertHash {
      hash = integrity;
      toHashFormat = "base16";
    };
  npmComponent = package: {
    type = "library";
    bom-ref = "pkg:npm/${package.name}@${package.version}";
    purl = "pkg:npm/${package.name}@${package.version}";
    inherit (package) name version;
    hashes = [
      {
        alg = "SHA-512";
        content = hexOf package.integrity;
      }
    ];
  };

  frame = writeText "frame.json" (
    builtins.toJSON {
      bomFormat = "CycloneDX";
      specVersion = "1.6";
      version = 1;
      metadata.component = {
        type = "container";
        bom-ref = name;
        inherit name version;
        licenses = [ { license.id = "Apache-2.0"; } ];
        properties = [
          {
            name = "revision";
            value = revision;
          }
          {
            name = "architecture";
            value = "linux/${arch}";
          }
        ];
      };
      components =
        lib.optional onBase {
          type = "container";
          bom-ref = "base";
          name = base.name;
          version = base.tag;
          hashes = [
            {
              alg = "SHA-256";
              content = lib.removePrefix "sha256:" (base.digest arch);
            }
          ];
        }
        ++ lib.optionals (flavor != null) (
          map npmComponent (
            [
              {
                name = "agent-browser";
                inherit (agentBrowser.${flavor}) version integrity;
              }
            ]
            ++ agentBrowser.${flavor}.parts
          )
        );
    }
  );
in
craneLib.mkCargoDerivation {
  pname = "browser-shell-sbom-${arch}";
  inherit version;
  src = sources.program;
  cargoArtifacts = null;
  doInstallCargoArtifacts = false;
  nativeBuildInputs = [ jq ];
  passAsFile = [
    "checksums"
    "paths"
  ];
  checksums = builtins.toJSON checksums;
  paths = lib.concatMapStrings (package: "${package}\n") packages;
  # Cargo requires the source files of all targets, also of those that it does not build.
  preBuild = ''
    for file in ${lib.escapeShellArgs crate.otherTargets}; do
      mkdir -p "$(dirname "$file")" && : >"$file"
    done
  '';
  buildPhaseCargoCommand = ''
    cargo tree --locked --offline --edges normal,no-proc-macro --target ${architectures.${arch}.target} --prefix none --no-dedupe \
      --format '{p}|{l}' | grep -v -e '^browser-shell v' -e '^browser-shell-core v' | LC_ALL=C sort -u >crates
    {
      cat "$pathsPath"
      ${lib.concatMapStrings (root: ''
        for path in ${root}/nix/store/*; do echo "''${path#${root}}"; done
      '') stores}
    } | LC_ALL=C sort -u >paths
    # The version begins after the first dash that a digit follows.
    jq --raw-input --null-input '
      [ inputs | capture("^(?<path>/nix/store/[0-9a-z]{32}-(?<name>.+?)(-(?<version>[0-9].*))?)$")
        | { type: "library", "bom-ref": .path, name, version: (.version // "0"), properties: [{ name: "nix:path", value: .path }] } ]
    ' paths >nixpkgs
    [ "$(jq length nixpkgs)" = "$(wc -l <paths)" ]
    jq --slurpfile nixpkgs nixpkgs --slurpfile frame ${frame} --slurpfile sums "$checksumsPath" --raw-input --null-input '
      [ inputs | capture("^(?<name>[^ ]+) v(?<version>[^ |]+)[^|]*\\|(?<license>.*)$")
        | (.name + "@" + .version) as $id
        | { type: "library", "bom-ref": ("pkg:cargo/" + $id), purl: ("pkg:cargo/" + $id), name, version,
            hashes: [{ alg: "SHA-256", content: $sums[0][$id] }], licenses: [{ expression: (.license | gsub("/"; " OR ")) }] } ]
      as $crates
      | $frame[0] | .components += $crates + $nixpkgs[0]
      | .dependencies = [{ ref: .metadata.component."bom-ref", dependsOn: [.components[]."bom-ref"] }]
    ' crates >sbom.json
  '';
  installPhaseCommand = ''
    cp sbom.json "$out"
  '';
}
