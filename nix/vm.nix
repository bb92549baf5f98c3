# The two virtual machines of the image tests: one runs podman, the other simulates the internet with a web server and DNS.
{ lib }:
let
  # Public addresses, so that the test runs with the policy's defaults. They are used only between these two machines.
  addressed = address: {
    networking = {
      firewall.enable = false;
      useDHCP = false;
      interfaces.eth1.ipv4.addresses = lib.mkForce [
        {
          inherit address;
          prefixLength = 24;
        }
      ];
    };
  };
  web = "93.184.215.20";
in
{
  inherit web;

  # Converts a file with one flag per line to a command line.
  flagsOf = file: lib.concatStringsSep " " (lib.splitString "\n" (lib.fileContents file));

  # Sizes in MiB. `packages` returns the programs that the test script runs. Both machines together must fit into the memory of a
  # runner with 16 GB (tests/nix/evaluate).
  nodes =
    {
      memorySize,
      diskSize,
      packages,
    }:
    {
      web = {
        imports = [ (addressed web) ];
        virtualisation.memorySize = 512;
        services.dnsmasq = {
          enable = true;
          settings = {
            no-resolv = true;
            local = "/example.com/";
            address = "/shop.example.com/${web}";
          };
        };
        services.nginx = {
          enable = true;
          virtualHosts."shop.example.com" = {
            root = ../tests/e2e/pages;
            locations."/".index = "shop.html";
          };
        };
      };

      machine =
        { pkgs, ... }:
        {
          imports = [ (addressed "93.184.215.10") ];
          virtualisation = {
            inherit memorySize diskSize;
            cores = 4;
            msize = 256 * 1024;
            podman.enable = true;
          };
          environment.systemPackages = packages pkgs;
        };
    };

  # Starts both machines and waits for their services.
  start = ''
    web.start()
    machine.start()
    web.wait_for_unit("nginx.service")
    web.wait_for_unit("dnsmasq.service")
    machine.wait_for_unit("multi-user.target")
  '';
}
