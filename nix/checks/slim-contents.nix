# Checks the files, the configuration and the sizes of the slim image (../standalone/contents.nix).
{
  slim,
  standaloneContents,
  hostArch,
}:
standaloneContents {
  standalone = slim;
  kind = "slim";
}
