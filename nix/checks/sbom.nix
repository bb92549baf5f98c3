# Checks that the bills of materials of both flavors are valid and list each component once, with a version and a hash.
{
  lib,
  runCommand,
  jq,
  architectures,
  nativeSbom,
  sbom,
  sbomValidator,
  hostArch,
}:
let
  check = name: arch: file: ''
    validate-sbom ${file}
    jq --exit-status '
      .metadata.component.name == "${name}"
      and all(.components[] | select(."bom-ref" != "program"); .version != "" and (.hashes[0].content | test("^[0-9a-f]{64}([0-9a-f]{64})?$")))
      and ([.components[] | select(."bom-ref" | startswith("pkg:cargo/rmcp@"))] | length == 1)
      and ([.components[] | select(."bom-ref" | startswith("pkg:npm/agent-browser@"))] | length == 1)
      and ([.components[] | select(.type == "container")] | length == 1 and all(.[]; .purl | startswith("pkg:oci/")))
      and ([.components[] | select(.name == "musl" or .name == "rust-std")] | length == 2)
      and ([.vulnerabilities[] | select(.id == "RUSTSEC-2023-0071") | .analysis.state] == ["not_affected"])
      # Test dependencies are not in the image.
      and ([.components[] | select(.name == "insta" or .name == "proptest")] | length == 0)
    ' ${file} >/dev/null
    echo "${name} ${arch}: $(jq '.components | length' ${file}) components" | tee --append "$out"
  '';
in
runCommand "browser-shell-check-sbom"
  {
    nativeBuildInputs = [
      jq
      sbomValidator
    ];
  }
  (
    lib.concatMapStrings (
      arch:
      check "browser-shell" arch (sbom {
        inherit arch;
      })
      + check "browser-shell-native" arch (nativeSbom {
        inherit arch;
      })
    ) (lib.attrNames architectures)
  )
