# The bill of materials of an image in CycloneDX (see ./assemble): the program with its crates, Rust's standard library and musl; npm
# packages; packages of nixpkgs; and the base by its digest. The contents of the base are not listed.
{
  lib,
  craneLib,
  writeText,
  bash,
  binutils-unwrapped,
  jq,
  agentBrowser,
  architectures,
  base,
  crate,
  revision,
  sources,
  toolchain,
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
  # Packages of nixpkgs that the programs in `stores` come from.
  known ? [ ],
  # Packages of nixpkgs whose files are at other paths.
  packages ? [ ],
}:
let
  lock = lib.importTOML ../../Cargo.lock;

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
    licenses = [ { license.id = package.license; } ];
  };

  packagesOf = import ./packages.nix { inherit lib; };
  named = map (package: lib.getName package) packages;
  # What packages at other paths are linked against is not in the image.
  listed = map (package: package // { listed = true; }) (
    lib.filter (package: lib.elem package.name named) (packagesOf packages)
  );

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
        lib.optional onBase (
          let
            digest = lib.removePrefix "sha256:" (base.digest arch);
            purl = "pkg:oci/${baseNameOf base.name}@sha256:${digest}?arch=${arch}&repository_url=${base.name}&tag=${base.tag}";
          in
          {
            type = "container";
            bom-ref = purl;
            inherit purl;
            inherit (base) name;
            version = base.tag;
            hashes = [
              {
                alg = "SHA-256";
                content = digest;
              }
            ];
            externalReferences = [
              {
                type = "distribution";
                url = "https://${base.registry}/v2/${base.repository}/manifests/sha256:${digest}";
              }
            ];
          }
        )
        ++ [
          {
            type = "application";
            bom-ref = "program";
            name = "browser-shell-program";
            inherit version;
            licenses = [ { license.id = "Apache-2.0"; } ];
          }
        ]
        ++ lib.optionals (flavor != null) (
          map npmComponent (
            [
              {
                name = "agent-browser";
                inherit (agentBrowser.${flavor}) version integrity license;
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
  nativeBuildInputs = [
    bash
    binutils-unwrapped
    jq
  ];
  passAsFile = [
    "checksums"
    "known"
  ];
  checksums = builtins.toJSON checksums;
  known = builtins.toJSON (packagesOf known ++ listed);
  preBuild = crate.emptyTargets;
  buildPhaseCargoCommand = ''
    cargo tree --locked --offline --edges normal,no-proc-macro --target ${architectures.${arch}.target} --prefix none --no-dedupe \
      --format '{p}|{l}' | grep -v '^browser-shell[a-z-]* v' | LC_ALL=C sort -u >names
    {
      :
      ${lib.concatMapStrings (root: ''
        for path in ${root}/nix/store/*; do echo "''${path#${root}}"; done
      '') stores}
    } | LC_ALL=C sort -u >paths
    bash ${./linked} ${toolchain} ${architectures.${arch}.target} >linked
    bash ${./assemble} ${frame} linked names "$checksumsPath" paths "$knownPath" ${./vex.json} >sbom.json
  '';
  installPhaseCommand = ''
    cp sbom.json "$out"
  '';
}
