# nix run .#sbom [-- amd64|arm64]: the bill of materials (CycloneDX JSON) on standard output.
{
  lib,
  writeShellApplication,
  coreutils,
  architectures,
  sbom,
}:
writeShellApplication {
  name = "sbom";
  runtimeInputs = [ coreutils ];
  text = ''
    case ''${1:-amd64} in
      ${lib.concatMapStrings (arch: ''
        ${arch}) exec cat ${sbom { inherit arch; }} ;;
      '') (lib.attrNames architectures)}
      *) echo "sbom: \`$1\` is no architecture of the image" >&2 && exit 64 ;;
    esac
  '';
  meta.description = "Prints the bill of materials of what the image adds to its base";
}
