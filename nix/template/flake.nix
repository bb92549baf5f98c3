# A NixOS machine that serves a browser to AI agents. Name your own repository if you changed the program, and add the configuration of
# your hardware.
{
  inputs = {
    browser-shell.url = "github:OWNER/browser-shell";
    nixpkgs.follows = "browser-shell/nixpkgs";
  };

  outputs =
    { nixpkgs, browser-shell, ... }:
    {
      nixosConfigurations.browser = nixpkgs.lib.nixosSystem {
        system = "x86_64-linux";
        modules = [
          browser-shell.nixosModules.default
          ./configuration.nix
        ];
      };
    };
}
