# Checks that the bill of materials of the runtime's image lists each component once, with a hash or a Nix store path.
{
  lib,
  runCommand,
  jq,
  architectures,
  runtimeSbom,
  hostArch,
}:
runCommand "browser-shell-check-runtime-sbom" { nativeBuildInputs = [ jq ]; } (
  lib.concatMapStrings (arch: ''
    jq --exit-status '
      ([.components[] | select(."bom-ref" | startswith("/nix/store/")) | .name]) as $nixpkgs
      | .bomFormat == "CycloneDX" and .metadata.component.name == "browser-shell-runtime"
      and ([.components[]."bom-ref"] | length == (unique | length))
      and all(.components[]; .hashes[0].content // .properties[0].value | length > 32)
      and all("chromium-unwrapped", "glibc", "tini", "nss", "noto-fonts-cjk-sans", "nss-cacert"; . as $name | $nixpkgs | index($name) != null)
      and all("bash", "coreutils", "nix"; . as $name | $nixpkgs | index($name) == null)
      and ([.components[] | select(."bom-ref" | startswith("pkg:npm/agent-browser@"))] | length == 1)
      and ([.components[] | select(."bom-ref" | startswith("pkg:cargo/rmcp@"))] | length == 1)
      and ([.components[] | select(.type == "container")] | length == 0)
    ' ${runtimeSbom { inherit arch; }} >/dev/null
    echo "${arch}: $(jq '.components | length' ${runtimeSbom { inherit arch; }}) components" | tee --append "$out"
  '') (lib.attrNames architectures)
)
