# nix run .#push -- REPOSITORY TAG [SKOPEO_ARGUMENT...]: pushes the images of both architectures and their index to a
# registry. stdout is the digest of the index. It fails if the registry reports another digest. `runtime-push` does the same
# for the runtime's image.
{
  writeShellApplication,
  coreutils,
  skopeo,
  oci-layout,
  name ? "push",
}:
writeShellApplication {
  inherit name;
  runtimeInputs = [
    coreutils
    oci-layout
    skopeo
  ];
  text = ''
    if (($# < 2)); then
      echo "usage: ${name} REPOSITORY TAG [SKOPEO_ARGUMENT...]" >&2
      exit 64
    fi
    repository=$1 tag=$2
    shift 2
    work=$(mktemp --directory)
    trap 'rm -rf -- "$work"' EXIT
    oci-layout "$work/layout" >"$work/digests"
    cat -- "$work/digests" >&2
    wanted=$(head -n 1 -- "$work/digests")
    # Fails rather than push a manifest with another digest.
    skopeo --insecure-policy copy --quiet --all --preserve-digests --retry-times 3 --digestfile "$work/pushed" "$@" \
      "oci:$work/layout:index" "docker://$repository:$tag" >&2
    pushed=$(cat -- "$work/pushed")
    if [ "$pushed" != "$wanted" ]; then
      echo "${name}: the registry has $pushed instead of $wanted" >&2
      exit 1
    fi
    echo "$pushed"
  '';
  meta.description = "Pushes both images and their index to a registry and prints the digest";
}
