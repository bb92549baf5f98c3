# Builds the parts of the slim image twice and compares the digests (../standalone/reproducible.nix).
{ standaloneReproducible, hostArch }:
standaloneReproducible {
  kind = "slim";
  choose = parts: parts.slim;
}
