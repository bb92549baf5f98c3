# The bill of materials of a standalone image. It is complete, because the image has no base.
{
  cacert,
  sbom,
  standaloneFonts,
}:
{
  name,
  # Flavor of agent-browser, or null.
  flavor,
  programs,
  # Packages of nixpkgs in the image's further layers, and those of programs that were moved, for an architecture.
  packages ? _: [ ],
}:
{ arch }:
sbom {
  inherit arch name flavor;
  onBase = false;
  stores = [ (programs arch) ];
  known = (programs arch).packages ++ packages arch;
  packages = standaloneFonts.packages ++ [ cacert ] ++ packages arch;
}
