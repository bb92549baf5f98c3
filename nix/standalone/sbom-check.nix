# Checks that the bill of materials of a standalone image lists each component once, with a hash or a Nix store path.
{
  lib,
  runCommand,
  jq,
  architectures,
}:
{
  # The image of ./default.nix.
  standalone,
  kind,
  # Packages of nixpkgs that only this image has.
  packages ? [ ],
  # Packages of npm.
  npm ? [ ],
}:
let
  wanted = [
    "chromium-unwrapped"
    "glibc"
    "tini"
    "nss"
    "noto-fonts-cjk-sans"
    "nss-cacert"
  ]
  ++ packages;
  json = value: lib.escapeShellArg (builtins.toJSON value);
in
runCommand "browser-shell-check-${kind}-sbom" { nativeBuildInputs = [ jq ]; } (
  lib.concatMapStrings (arch: ''
    jq --exit-status --argjson packages ${json wanted} --argjson npm ${json npm} '
      ([.components[] | select(."bom-ref" | startswith("/nix/store/")) | .name]) as $nixpkgs
      | .bomFormat == "CycloneDX" and .metadata.component.name == "${standalone.name}"
      and ([.components[]."bom-ref"] | length == (unique | length))
      and all(.components[]; .hashes[0].content // .properties[0].value | length > 32)
      and all($packages[]; . as $name | $nixpkgs | index($name) != null)
      and all("bash", "coreutils", "nix", "python3", "nodejs", "nginx", "ffmpeg"; . as $name | $nixpkgs | index($name) == null)
      and ([.components[] | select(."bom-ref" | startswith("pkg:npm/")) | .name] == $npm)
      and ([.components[] | select(."bom-ref" | startswith("pkg:cargo/rmcp@"))] | length == 1)
      and ([.components[] | select(.type == "container")] | length == 0)
    ' ${standalone.sbom { inherit arch; }} >/dev/null
    echo "${arch}: $(jq '.components | length' ${
      standalone.sbom { inherit arch; }
    }) components" | tee --append "$out"
  '') (lib.attrNames architectures)
)
