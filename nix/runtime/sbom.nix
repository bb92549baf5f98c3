# The bill of materials of the runtime's image. It is complete, because the image has no base.
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
  flavor = "native";
  onBase = false;
  stores = [ (runtimePrograms arch) ];
  packages = runtimeFonts.packages ++ [ cacert ];
}
