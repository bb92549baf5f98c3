# Checks the files, the configuration and the sizes of the runtime's image (../standalone/contents.nix).
{
  runtime,
  standaloneContents,
  hostArch,
}:
standaloneContents {
  standalone = runtime;
  kind = "runtime";
}
