# What nixpkgs knows about the packages that an image can contain, by evaluation alone: the given packages, and everything that they
# are linked against. Paths are without context, so that nothing is built or copied for this list.
{ lib }:
let
  plain = builtins.unsafeDiscardStringContext;
  cpes = import ./cpe.nix;

  licensesOf =
    license:
    if lib.isList license then
      lib.concatMap licensesOf license
    else if lib.isString license then
      [ { name = license; } ]
    # Combined with others, or with an exception.
    else if license ? licenses || license ? license then
      licensesOf (license.licenses or license.license)
    else if license ? spdxId then
      [ { id = license.spdxId; } ]
    else
      [ { name = license.fullName or license.shortName; } ];

  # A version of nixpkgs may have a suffix that a release does not have.
  upstream = version: lib.head (lib.splitString "-" version);
  cpeOf =
    name: version: identifiers:
    let
      possible = identifiers.possibleCPEs or [ ];
    in
    if cpes ? ${name} then
      "cpe:2.3:a:${cpes.${name}}:${upstream version}:*:*:*:*:*:*:*"
    else if identifiers ? cpe then
      identifiers.cpe
    else if possible != [ ] then
      (lib.head possible).cpe
    else
      null;
in
packages:
let
  node = package: {
    key = plain package.outPath;
    inherit package;
  };
  closure = builtins.genericClosure {
    startSet = map node packages;
    operator =
      { package, ... }:
      map node (
        lib.filter lib.isDerivation (
          lib.flatten [
            (package.buildInputs or [ ])
            (package.propagatedBuildInputs or [ ])
          ]
        )
      );
  };
in
map (
  { package, ... }:
  let
    name = lib.getName package;
    version = lib.getVersion package;
    meta = package.meta or { };
  in
  {
    inherit name;
    version = if version == "" then "0" else version;
    paths = map (output: plain package.${output}.outPath) (package.outputs or [ "out" ]);
    licenses = lib.unique (licensesOf (meta.license or [ ]));
    cpe = cpeOf name version (meta.identifiers.v1 or { });
    homepage = if meta ? homepage then lib.head (lib.toList meta.homepage) else null;
  }
) closure
