# A standalone image from its description: an image without a base, of linked files alone. ../runtime and ../slim are the two.
{
  standaloneImage,
  standalonePrograms,
  standaloneRootfs,
  standaloneSbom,
}:
{
  # Name of the image.
  name,
  description,
  # Command of the program, and the port that clients use.
  command,
  port,
  # File with the variables of the image.
  environment,
  # Flavor of agent-browser in the image (../agent-browser), if it has one.
  flavor ? null,
  # See ./programs.nix.
  collected ? _: [ ],
  moved ? _: { },
  installed ? _: { },
  # See ./rootfs.nix.
  files ? "",
  further ? [ ],
  # Packages of nixpkgs in `further` and `moved`, for an architecture.
  packages ? _: [ ],
}:
let
  programs = standalonePrograms {
    inherit
      name
      collected
      moved
      installed
      ;
  };
  rootfs = standaloneRootfs {
    inherit
      name
      programs
      environment
      flavor
      sbom
      files
      further
      ;
  };
  sbom = standaloneSbom {
    inherit
      name
      flavor
      programs
      packages
      ;
  };
in
{
  inherit
    name
    environment
    rootfs
    sbom
    ;
  image = standaloneImage {
    inherit
      name
      description
      command
      port
      flavor
      programs
      rootfs
      ;
  };
}
