# Combines the parts for one host. Each part is a file that receives the other parts by name; checks and apps are discovered
# in their folders.
{
  pkgs,
  pkgsOf,
  mkCraneLib,
  rustBin,
  nix2container,
  skopeo-nix2container,
  revision,
  lastModifiedDate,
  nixpkgsLastModifiedDate,
}:
let
  inherit (pkgs) lib;

  # From 20260102030405 to 2026-01-02T03:04:05Z.
  timeOf =
    text:
    let
      digits = "([0-9]{2})";
      parts = builtins.match "([0-9]{4})${digits}${digits}${digits}${digits}${digits}" text;
      at = builtins.elemAt parts;
    in
    "${at 0}-${at 1}-${at 2}T${at 3}:${at 4}:${at 5}Z";

  # One attribute for each FILE.nix in the folder.
  discover =
    folder: args:
    lib.mapAttrs' (
      file: _:
      lib.nameValuePair (lib.removeSuffix ".nix" file) (scope.callPackage (folder + "/${file}") args)
    ) (lib.filterAttrs (file: _: lib.hasSuffix ".nix" file) (builtins.readDir folder));

  scope = lib.makeScope pkgs.newScope (self: {
    inherit
      pkgsOf
      rustBin
      nix2container
      skopeo-nix2container
      revision
      ;
    created = timeOf lastModifiedDate;
    # What comes from nixpkgs is at least as old.
    nixpkgsDate = lib.head (lib.splitString "T" (timeOf nixpkgsLastModifiedDate));
    versions = self.callPackage ./versions.nix { };
    version = (lib.importTOML ../Cargo.toml).workspace.package.version;
    architectures = import ./architectures.nix;
    # This host's, by its OCI name.
    hostArch = lib.findFirst (
      arch: self.architectures.${arch}.system == pkgs.stdenv.hostPlatform.system
    ) (throw "there is no image for this host") (lib.attrNames self.architectures);
    sources = self.callPackage ./sources.nix { };
    toolchain = self.callPackage ./toolchain.nix { };
    # Never nixpkgs' Rust.
    craneLib = (mkCraneLib pkgs).overrideToolchain (_: self.toolchain);
    crate = self.callPackage ./crate.nix { };
    agentBrowser = self.callPackage ./agent-browser { };
    base = self.callPackage ./base { };
    rootfs = self.callPackage ./rootfs.nix { };
    image = self.callPackage ./image.nix { };
    sbom = self.callPackage ./sbom { };
    sbomValidator = self.callPackage ./sbom/validator.nix { };
    oci-image = self.callPackage ./oci-image.nix { };
    oci-layout = self.callPackage ./oci-layout.nix { };
    vm = self.callPackage ./vm.nix { };
    archive = self.callPackage ./archive.nix { };
    licenses = self.callPackage ./licenses { };
    digests = self.callPackage ./digests.nix { };

    # What the NixOS module and the overlay take from here.
    nixosPackages = {
      browser-shell = self.crate.static self.hostArch;
      agent-browser = self.agentBrowser.native.static self.hostArch;
    };
    nixosModule = import ./nixos { packagesOf = _: self.nixosPackages; };
    nixosOptionsPage = import ./nixos/options-page.nix {
      inherit lib pkgs;
      inherit (self) nixosModule;
    };

    nativeImage = args: self.image (args // { flavor = "native"; });
    nativeSbom =
      args:
      self.sbom (
        args
        // {
          name = "browser-shell-native";
          flavor = "native";
        }
      );
    nativeOciLayout = self.oci-layout.override { image = self.nativeImage; };

    # The images without a base.
    standalone = self.callPackage ./standalone { };
    standaloneContents = self.callPackage ./standalone/contents.nix { };
    standaloneFonts = self.callPackage ./standalone/fonts.nix { };
    standaloneImage = self.callPackage ./standalone/image.nix { };
    standalonePrograms = self.callPackage ./standalone/programs.nix { };
    standaloneReproducible = self.callPackage ./standalone/reproducible.nix { };
    standaloneRootfs = self.callPackage ./standalone/rootfs.nix { };
    standaloneSbom = self.callPackage ./standalone/sbom.nix { };
    standaloneSbomCheck = self.callPackage ./standalone/sbom-check.nix { };
    standaloneVm = self.callPackage ./standalone/vm.nix { };
    staticProgram = self.callPackage ./standalone/static-program.nix { };

    runtime = self.callPackage ./runtime { };
    runtimeOciLayout = self.oci-layout.override { inherit (self.runtime) image; };

    slim = self.callPackage ./slim { };
    slimDisplay = self.callPackage ./slim/display.nix { };
    slimOciLayout = self.oci-layout.override { inherit (self.slim) image; };
  });

  inherit (scope) architectures hostArch;
  forEachArch =
    prefix: make:
    lib.mapAttrs' (arch: _: lib.nameValuePair "${prefix}-${arch}" (make arch)) architectures;

  images =
    forEachArch "image" (arch: scope.image { inherit arch; })
    // forEachArch "image-native" (arch: scope.nativeImage { inherit arch; })
    // forEachArch "image-slim" (arch: scope.slim.image { inherit arch; })
    // forEachArch "runtime-image" (arch: scope.runtime.image { inherit arch; });
  apps = discover ./apps { };
  # Checks that the host cannot run are null.
  checks =
    scope.crate.checks
    // lib.filterAttrs (_: check: check != null) (discover ./checks { inherit hostArch; });
in
{
  packages =
    images
    // forEachArch "browser-shell" scope.crate.static
    // forEachArch "agent-browser" (arch: scope.agentBrowser.node.package arch)
    // forEachArch "sbom" (arch: scope.sbom { inherit arch; })
    // forEachArch "native-sbom" (arch: scope.nativeSbom { inherit arch; })
    // forEachArch "runtime-sbom" (arch: scope.runtime.sbom { inherit arch; })
    // forEachArch "slim-sbom" (arch: scope.slim.sbom { inherit arch; })
    // forEachArch "archive" scope.archive
    // scope.nixosPackages
    // {
      image = images."image-${hostArch}";
      image-native = images."image-native-${hostArch}";
      image-slim = images."image-slim-${hostArch}";
      runtime-image = images."runtime-image-${hostArch}";
      default = images."image-${hostArch}";
      inherit (scope) digests oci-layout;
      native-oci-layout = scope.nativeOciLayout;
      runtime-oci-layout = scope.runtimeOciLayout;
      slim-oci-layout = scope.slimOciLayout;
      rootfs = scope.rootfs.own;
      # All checks that need neither the base image (a 3.4 GB download) nor a virtual machine.
      checks-without-base = pkgs.linkFarm "browser-shell-checks-without-base" (
        lib.filterAttrs (_: check: !(check.needsBase or false || check.needsKvm or false)) checks
      );
    };

  apps = lib.mapAttrs (_: app: {
    type = "app";
    program = lib.getExe app;
    meta.description = app.meta.description;
  }) (apps // { default = apps.load; });

  inherit checks scope;
  devShell = scope.callPackage ./devshell.nix { };
  formatter = pkgs.nixfmt-tree;
}
