# nix run .#sbom [-- amd64|arm64]: prints the bill of materials as CycloneDX JSON. `runtime-sbom` does the same for the
# runtime's image.
{
  lib,
  writeShellApplication,
  coreutils,
  architectures,
  sbom,
  name ? "sbom",
}:
writeShellApplication {
  inherit name;
  runtimeInputs = [ coreutils ];
  text = ''
    case ''${1:-amd64} in
      ${lib.concatMapStrings (arch: ''
        ${arch}) exec cat ${sbom { inherit arch; }} ;;
      '') (lib.attrNames architectures)}
      *) echo "${name}: unknown architecture \`$1\`; use \`amd64\` or \`arm64\`" >&2 && exit 64 ;;
    esac
  '';
  meta.description = "Prints the bill of materials of an image's own layers";
}
