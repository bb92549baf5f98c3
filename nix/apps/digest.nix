# nix run .#digest [-- FILE...]: prints the digest of the index that `push` would push. It also replaces the digest in each
# FILE (files in deploy/ contain a placeholder). `runtime-digest` does the same for the runtime's image.
{
  writeShellApplication,
  coreutils,
  gnugrep,
  gnused,
  oci-layout,
  name ? "digest",
}:
writeShellApplication {
  inherit name;
  runtimeInputs = [
    coreutils
    gnugrep
    gnused
    oci-layout
  ];
  text = ''
    for file; do
      grep --quiet 'sha256:[0-9a-f]\{64\}' -- "$file" || { echo "${name}: \`$file\` has no digest to replace" >&2 && exit 64; }
    done
    work=$(mktemp --directory)
    trap 'rm -rf -- "$work"' EXIT
    oci-layout "$work/layout" >"$work/digests"
    digest=$(head -n 1 -- "$work/digests")
    tail -n +2 -- "$work/digests" >&2
    for file; do
      sed -i "s/sha256:[0-9a-f]\{64\}/$digest/" -- "$file"
    done
    echo "$digest"
  '';
  meta.description = "Prints the digest of the image index and writes it into files";
}
