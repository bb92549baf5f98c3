# nix run .#push -- REPOSITORY TAG [ARGUMENT OF SKOPEO...]: the image of both architectures and its index to a registry.
# It prints the digest of the index and nothing else; the registry must have come to the same one. `runtime-push` does it with
# the runtime's image.
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
      echo "usage: ${name} REPOSITORY TAG [ARGUMENT OF SKOPEO...]" >&2
      exit 64
    fi
    repository=$1 tag=$2
    shift 2
    work=$(mktemp --directory)
    trap 'rm -rf -- "$work"' EXIT
    oci-layout "$work/layout" >"$work/digests"
    cat -- "$work/digests" >&2
    wanted=$(head -n 1 -- "$work/digests")
    # --preserve-digests: what is pushed is what was computed, or it fails
    skopeo --insecure-policy copy --quiet --all --preserve-digests --retry-times 3 --digestfile "$work/pushed" "$@" \
      "oci:$work/layout:index" "docker://$repository:$tag" >&2
    pushed=$(cat -- "$work/pushed")
    if [ "$pushed" != "$wanted" ]; then
      echo "${name}: the registry has $pushed, and not $wanted" >&2
      exit 1
    fi
    echo "$pushed"
  '';
  meta.description = "Pushes the images of both architectures and their index, and prints its digest";
}
