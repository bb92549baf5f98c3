# Runs the NixOS module in a virtual machine, in the mode `native` with its own policy and an API key. A second machine simulates
# the internet.
# It needs KVM, so `nix build .#checks-without-base` excludes it, although it does not need the base image.
{
  testers,
  nixosModule,
  sources,
  vm,
  writeText,
  hostArch,
}:
let
  nodes = vm.nodes {
    memorySize = 6 * 1024;
    diskSize = 8 * 1024;
    packages = pkgs: [ pkgs.python3 ];
  };
  # `printf %s KEY | sha256sum`
  key = "vm-module-key-vm-module-key-vm-module-key";
  keys = writeText "api-keys.txt" "vm drive sha256:${builtins.hashString "sha256" key}\n";
in
if hostArch != "amd64" then
  null
else
  (testers.runNixOSTest {
    name = "browser-shell-vm-module";
    globalTimeout = 30 * 60;

    nodes = nodes // {
      machine = {
        imports = [
          nodes.machine
          nixosModule
        ];
        networking.nameservers = [ vm.web ];
        services.browser-shell = {
          enable = true;
          listen = "0.0.0.0:8080";
          credentials.apiKeysFile = "/run/api-keys.txt";
          settings.health = "127.0.0.1:8081";
          settings.chromium-sandbox = "require";
        };
        # Only root can read it, as a secret of a deployment.
        systemd.tmpfiles.settings.api-keys."/run/api-keys.txt"."C+" = {
          argument = "${keys}";
          mode = "0400";
        };
      };
    };

    testScript = ''
      smoke = "python3 ${sources.tests}/image/smoke.py http://127.0.0.1:8080 http://shop.example.com/ --api-key ${key} --text"

      ${vm.start}

      with subtest("the service becomes healthy under its confinement"):
          machine.wait_for_unit("browser-shell.service")
          machine.wait_until_succeeds("curl --fail --silent http://127.0.0.1:8081/healthz", timeout=300)

      with subtest("requests without the key are refused"):
          code = machine.succeed("curl --silent --output /dev/null --write-out '%{http_code}' --request POST http://127.0.0.1:8080/mcp")
          assert code == "401", code

      with subtest("an agent and a person can use it"):
          machine.succeed(f"{smoke} >&2", timeout=600)

      with subtest("Chromium's renderer sandbox is on"):
          processes = machine.succeed("ps --user browser-shell -o args")
          assert "--type=renderer" in processes and "--no-sandbox" not in processes, processes

      with subtest("its processes have no capabilities and cannot gain any"):
          pid = machine.succeed("systemctl show --property MainPID --value browser-shell").strip()
          status = machine.succeed(f"cat /proc/{pid}/status")
          nothing = "0" * 16
          for wanted in f"CapBnd:\t{nothing}", f"CapEff:\t{nothing}", "NoNewPrivs:\t1", "Seccomp:\t2":
              assert wanted in status, status

      with subtest("systemd rates the confinement"):
          machine.succeed("systemd-analyze security --threshold=30 browser-shell.service >&2")

      with subtest("it ends by itself on SIGTERM"):
          machine.succeed("systemctl stop browser-shell")
          result = machine.succeed("systemctl show --property Result --value browser-shell").strip()
          assert result == "success", result
    '';
  })
  // {
    needsKvm = true;
  }
