# Checks that the bill of materials lists each component once, with a version and a hash.
{
  lib,
  runCommand,
  jq,
  architectures,
  sbom,
  hostArch,
}:
runCommand "browser-shell-check-sbom" { nativeBuildInputs = [ jq ]; } (
  lib.concatMapStrings (arch: ''
    jq --exit-status '
      .bomFormat == "CycloneDX" and .specVersion == "1.6"
      and ([.components[]."bom-ref"] | length == (unique | length))
      and all(.components[]; .version != "" and (.hashes[0].content | test("^[0-9a-f]{64}([0-9a-f]{64})?$")))
      and ([.components[] | select(."bom-ref" | startswith("pkg:cargo/rmcp@"))] | length == 1)
      and ([.components[] | select(."bom-ref" | startswith("pkg:npm/agent-browser@"))] | length == 1)
      and ([.components[] | select(.type == "container")] | length == 1)
      # Test dependencies are not in the image.
      and ([.components[] | select(.name == "insta" or .name == "proptest")] | length == 0)
    ' ${sbom { inherit arch; }} >/dev/null
    echo "${arch}: $(jq '.components | length' ${sbom { inherit arch; }}) components" | tee --append "$out"
  '') (lib.attrNames architectures)
)
