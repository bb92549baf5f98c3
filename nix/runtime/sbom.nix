# The bill of materials of the runtime's image: everything in it, since it has no base.
{
  cacert,
  runtimeFonts,
  runtimePrograms,
  sbom,
}:
{ arch }:
sbom {
  inherit arch;
  name = "browser-shell-runtime";
  flavour = "native";
  onBase = false;
  stores = [ (runtimePrograms arch) ];
  packages = runtimeFonts.packages ++ [ cacert ];
}
