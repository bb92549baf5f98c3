# nix run .#sbom [-- amd64|arm64]: the bill of materials (CycloneDX JSON) on standard output. `runtime-sbom`: of the
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
      *) echo "${name}: \`$1\` is no architecture of the image" >&2 && exit 64 ;;
    esac
  '';
  meta.description = "Prints the bill of materials of what an image adds to its base";
}
