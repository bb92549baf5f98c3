# Wiring only: the inputs, and the outputs that nix/ defines.
{
  description = "One MCP tool for an AI agent: a visible Chromium behind a URL policy, as a container image";

  inputs = {
    nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";
    crane.url = "github:ipetkov/crane";
    nix2container = {
      url = "github:nlewo/nix2container";
      inputs.nixpkgs.follows = "nixpkgs";
    };
    rust-overlay = {
      url = "github:oxalica/rust-overlay";
      inputs.nixpkgs.follows = "nixpkgs";
    };
  };

  outputs =
    {
      self,
      nixpkgs,
      crane,
      nix2container,
      rust-overlay,
    }:
    let
      partsOf =
        host:
        import ./nix {
          pkgs = nixpkgs.legacyPackages.${host};
          pkgsOf = system: nixpkgs.legacyPackages.${system};
          mkCraneLib = crane.mkLib;
          rustBin = rust-overlay.lib.mkRustBin { } nixpkgs.legacyPackages.${host};
          inherit (nix2container.packages.${host}) nix2container skopeo-nix2container;
          revision = self.rev or self.dirtyRev or "unknown";
          inherit (self) lastModifiedDate;
          nixpkgsLastModifiedDate = nixpkgs.lastModifiedDate;
        };
      forEachHost =
        choose:
        nixpkgs.lib.genAttrs [
          "x86_64-linux"
          "aarch64-linux"
        ] (host: choose (partsOf host));
    in
    {
      packages = forEachHost (parts: parts.packages);
      apps = forEachHost (parts: parts.apps);
      checks = forEachHost (parts: parts.checks);
      devShells = forEachHost (parts: {
        default = parts.devShell;
      });
      formatter = forEachHost (parts: parts.formatter);

      nixosModules.default = import ./nix/nixos { packagesOf = system: self.packages.${system}; };
      overlays.default = import ./nix/overlay.nix { packagesOf = system: self.packages.${system}; };
      templates.default = {
        path = ./nix/template;
        description = "A NixOS machine that serves a browser to AI agents";
      };
    };
}
