# The source files of each build. A build runs again only when its own files change: an edit of a page does not rebuild the
# program, and an edit of the program does not rebuild the image's other layers.
{ lib }:
let
  inherit (lib) fileset;
  sourceOf =
    root: files:
    fileset.toSource {
      inherit root;
      fileset = files;
    };
  isProgram = file: !(file.hasExt "snap" || file.hasExt "md");
in
{
  # The files that cargo needs to build the program.
  program = sourceOf ../. (
    fileset.unions [
      ../.cargo
      ../Cargo.lock
      ../Cargo.toml
      # Built into the program.
      ../examples/policy.recommended.json
      (fileset.fileFilter isProgram ../crates)
      (fileset.fileFilter isProgram ../src)
    ]
  );

  # The files that the tests read, including pages, scripts and goldens.
  everything = sourceOf ../. (
    fileset.difference ../. (
      fileset.unions (
        map fileset.maybeMissing [
          ../.dev
          ../.git
          ../benches/peers/node_modules
          ../result
          ../target
          ../tests/e2e/node_modules
          ../tests/nix/sigstore/node_modules
          ../fuzz/target
        ]
      )
    )
  );

  # The files beside the program in its archive.
  archive = sourceOf ../. (
    fileset.unions [
      ../LICENSE
      ../deploy/systemd
      ../examples
      ../rootfs/etc/browser/policies/managed/zz-browser-shell.json
    ]
  );

  rootfs = sourceOf ../rootfs ../rootfs;
  skills = sourceOf ../skills ../skills;
  tests = sourceOf ../tests (
    fileset.unions [
      ../tests/aio-base
      ../tests/image
    ]
  );
}
