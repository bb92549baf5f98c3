# Which files of this repository a build sees. What a build does not see cannot rebuild it: an edit of a page leaves the
# program alone, and an edit of the program leaves the image's other layers alone.
{ lib }:
let
  inherit (lib) fileset;
  of =
    root: files:
    fileset.toSource {
      inherit root;
      fileset = files;
    };
  isProgram = file: !(file.hasExt "snap" || file.hasExt "md");
in
{
  # what cargo needs for the program alone
  program = of ../. (
    fileset.unions [
      ../.cargo
      ../Cargo.lock
      ../Cargo.toml
      (fileset.fileFilter isProgram ../src)
    ]
  );

  # what the tests read: pages, scripts and goldens too
  everything = of ../. (
    fileset.difference ../. (
      fileset.unions (
        map fileset.maybeMissing [
          ../.dev
          ../.git
          ../benches/peers/node_modules
          ../result
          ../target
          ../tests/e2e/node_modules
          ../fuzz/target
        ]
      )
    )
  );

  rootfs = of ../rootfs ../rootfs;
  skills = of ../skills ../skills;
  tests = of ../tests (
    fileset.unions [
      ../tests/aio-base
      ../tests/image
    ]
  );
}
