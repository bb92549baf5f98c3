# nix run .#load [-- podman|docker]: hands the host's image to the container engine of this machine.
{
  writeShellApplication,
  skopeo-nix2container,
  architectures,
  image,
  lib,
  stdenv,
}:
let
  arch = lib.findFirst (
    arch: architectures.${arch}.system == stdenv.hostPlatform.system
  ) (throw "there is no image for this host") (lib.attrNames architectures);
  built = image { inherit arch; };
in
writeShellApplication {
  name = "load";
  runtimeInputs = [ skopeo-nix2container ];
  text = ''
    engine=''${1:-}
    if [ -z "$engine" ]; then
      for engine in podman docker; do
        if command -v "$engine" >/dev/null; then break; fi
      done
    fi
    case $engine in
      podman) to=containers-storage ;;
      docker) to=docker-daemon ;;
      *) echo "load: \`$engine\` is no engine: it is \`podman\` or \`docker\`" >&2 && exit 64 ;;
    esac
    command -v "$engine" >/dev/null || { echo "load: there is no \`$engine\` on this machine" >&2 && exit 69; }
    name=${built.imageName}:${built.imageTag}
    skopeo --insecure-policy copy nix:${built} "$to:$name"
    echo "$name"
  '';
  meta.description = "Loads the image into podman or docker";
}
