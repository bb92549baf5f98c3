# Builds the parts of the runtime's image twice and compares the digests (../standalone/reproducible.nix).
{ standaloneReproducible, hostArch }:
standaloneReproducible {
  kind = "runtime";
  choose = parts: parts.runtime;
}
