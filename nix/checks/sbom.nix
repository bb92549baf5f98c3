# Checks that the bills of materials of both flavors list each component once, with a version and a hash.
{
  lib,
  runCommand,
  jq,
  architectures,
  nativeSbom,
  sbom,
  hostArch,
}:
let
  check = name: arch: file: ''
    jq --exit-status '
      .bomFormat == "CycloneDX" and .specVersion == "1.6" and .metadata.component.name == "${name}"
      and ([.components[]."bom-ref"] | length == (unique | length))
      and all(.components[]; .version != "" and (.hashes[0].content | test("^[0-9a-f]{64}([0-9a-f]{64})?$")))
      and ([.components[] | select(."bom-ref" | startswith("pkg:cargo/rmcp@"))] | length == 1)
      and ([.components[] | select(."bom-ref" | startswith("pkg:npm/agent-browser@"))] | length == 1)
      and ([.components[] | select(.type == "container")] | length == 1)
      # Test dependencies are not in the image.
      and ([.components[] | select(.name == "insta" or .name == "proptest")] | length == 0)
    ' ${file} >/dev/null
    echo "${name} ${arch}: $(jq '.components | length' ${file}) components" | tee --append "$out"
  '';
in
runCommand "browser-shell-check-sbom" { nativeBuildInputs = [ jq ]; } (
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
