# nix run .#load [-- podman|docker]: hands the host's image to the container engine of this machine. `runtime-load`
# does it with the runtime's.
{
  writeShellApplication,
  skopeo-nix2container,
  architectures,
  image,
  lib,
  stdenv,
  name ? "load",
}:
let
  arch = lib.findFirst (
    arch: architectures.${arch}.system == stdenv.hostPlatform.system
  ) (throw "there is no image for this host") (lib.attrNames architectures);
  built = image { inherit arch; };
in
writeShellApplication {
  inherit name;
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
      *) echo "${name}: \`$engine\` is no engine: it is \`podman\` or \`docker\`" >&2 && exit 64 ;;
    esac
    command -v "$engine" >/dev/null || { echo "${name}: there is no \`$engine\` on this machine" >&2 && exit 69; }
    image=${built.imageName}:${built.imageTag}
    skopeo --insecure-policy copy nix:${built} "$to:$image"
    echo "$image"
  '';
  meta.description = "Loads `${built.imageName}` into podman or docker";
}
