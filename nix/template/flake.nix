# A NixOS machine that serves a browser to AI agents. Put your repository's owner in place of OWNER, and add the configuration of your
# hardware.
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
