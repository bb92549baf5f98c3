# Checks that the bill of materials of a standalone image is valid, that it has each component once, and that nixpkgs knows each
# package. It does not know those that were made on the host: their paths in the store would depend on it.
{
  lib,
  runCommand,
  jq,
  architectures,
  sbomValidator,
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
runCommand "browser-shell-check-${kind}-sbom"
  {
    nativeBuildInputs = [
      jq
      sbomValidator
    ];
  }
  (
    lib.concatMapStrings (arch: ''
      sbom=${standalone.sbom { inherit arch; }}
      validate-sbom "$sbom"
      unknown=$(jq --raw-output '.components[] | select((.purl // "" | startswith("pkg:nix/")) and .licenses == null) | .name' "$sbom")
      [ -z "$unknown" ] || { echo "nixpkgs does not know: $unknown" >&2 && exit 1; }
      jq --exit-status --argjson packages ${json wanted} --argjson npm ${json npm} '
        ([.components[] | select(.purl // "" | startswith("pkg:nix/")) | .name]) as $nixpkgs
        | .metadata.component.name == "${standalone.name}"
        and all($packages[]; . as $name | $nixpkgs | index($name) != null)
        and all("bash", "coreutils", "nix", "python3", "nodejs", "nginx", "ffmpeg"; . as $name | $nixpkgs | index($name) == null)
        and ([.components[] | select(."bom-ref" | startswith("pkg:npm/")) | .name] == $npm)
        and ([.components[] | select(."bom-ref" | startswith("pkg:cargo/rmcp@"))] | length == 1)
        and ([.components[] | select(.type == "container")] | length == 0)
      ' "$sbom" >/dev/null
      echo "${arch}: $(jq '.components | length' "$sbom") components" | tee --append "$out"
    '') (lib.attrNames architectures)
  )
