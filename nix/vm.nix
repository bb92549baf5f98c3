# The two machines of the tests that run an image for real: one that has podman and the documented flags, and one that is the
# internet for it, with a page and the names of it.
{ lib }:
let
  # Addresses that look public, so that the policy's defaults are what is tested. Only these two machines have them.
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

  # a file of flags, one a line, as a command line
  flagsOf = file: lib.concatStringsSep " " (lib.splitString "\n" (lib.fileContents file));

  # sizes in MiB; `packages` of what the test's own commands need
  nodes =
    {
      memorySize,
      diskSize,
      packages,
    }:
    {
      web = {
        imports = [ (addressed web) ];
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

  # both are up
  start = ''
    web.start()
    machine.start()
    web.wait_for_unit("nginx.service")
    web.wait_for_unit("dnsmasq.service")
    machine.wait_for_unit("multi-user.target")
  '';
}
