# nix run .#load [-- podman|docker]: loads the image for this host into the local container engine. `runtime-load` does the
# same for the runtime's image.
{
  writeShellApplication,
  skopeo-nix2container,
  hostArch,
  image,
  name ? "load",
}:
let
  built = image { arch = hostArch; };
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
      *) echo "${name}: unknown engine \`$engine\`; use \`podman\` or \`docker\`" >&2 && exit 64 ;;
    esac
    command -v "$engine" >/dev/null || { echo "${name}: \`$engine\` is not installed" >&2 && exit 69; }
    image=${built.imageName}:${built.imageTag}
    skopeo --insecure-policy copy nix:${built} "$to:$image"
    echo "$image"
  '';
  meta.description = "Loads `${built.imageName}` into podman or docker";
}
