# The validator of bills of materials, tests/nix/validate-sbom.
{ runCommand, python3 }:
let
  python = python3.withPackages (packages: [
    packages.cyclonedx-python-lib
    packages.jsonschema
    packages.packageurl-python
  ]);
in
runCommand "validate-sbom" { meta.mainProgram = "validate-sbom"; } ''
  mkdir -p "$out/bin"
  sed '1s|.*|#!${python}/bin/python3|' ${../../tests/nix/validate-sbom} >"$out/bin/validate-sbom"
  chmod 755 "$out/bin/validate-sbom"
''
