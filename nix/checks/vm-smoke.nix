# The real image in a virtual machine: podman loads it and runs it with the documented flags, a second machine is the internet.
# It needs kvm and the base image, 3.4 GB to fetch and about 30 GB of disk: `nix build .#checks-without-base` leaves it out.
{
  testers,
  image,
  sources,
  vm,
  hostArch,
}:
let
  built = image { arch = "amd64"; };
  flags = vm.flagsOf ../../deploy/flags;
in
if hostArch != "amd64" then
  null
else
  (testers.runNixOSTest {
    name = "browser-shell-vm-smoke";
    globalTimeout = 60 * 60;

    nodes = vm.nodes {
      memorySize = 12 * 1024;
      diskSize = 40 * 1024;
      packages = pkgs: [
        pkgs.openssl
        pkgs.python3
      ];
    };

    testScript = ''
      run = "podman run --detach --name box --dns ${vm.web} ${flags}"
      name = "${built.imageName}:${built.imageTag}"
      smoke = "python3 ${sources.tests}/image/smoke.py http://127.0.0.1:8080 http://shop.example.com/"
      attack = "python3 ${sources.tests}/aio-base/attack.py http://127.0.0.1:8080"

      ${vm.start}

      with subtest("podman takes the image"):
          machine.succeed("${built.copyToPodman}/bin/copy-to-podman >&2", timeout=2400)

      with subtest("an agent and a person use it"):
          machine.succeed(f"{run} {name}")
          machine.succeed(f"{smoke} >&2", timeout=600)

      with subtest("it has what it should have, and no more"):
          machine.succeed("podman exec box test -x /usr/local/bin/browser-shell")
          machine.succeed("podman exec box sh -c '! test -e /nix'")
          machine.succeed("podman exec --user 10079 box env PATH=/usr/bin:/bin /usr/local/bin/browser-shell --version >&2")

      with subtest("the wall refuses what it must"):
          machine.succeed(f"{attack} --auth off >&2", timeout=600)

      with subtest("it works again after a restart"):
          machine.succeed("podman restart --time 30 box")
          machine.succeed(f"{smoke} >&2", timeout=600)
          machine.succeed("podman rm --force --time 30 box")

      with subtest("with credentials, nothing goes without them"):
          machine.succeed("openssl genrsa -out /root/key.pem 2048")
          machine.succeed(f"{run} --env JWT_PUBLIC_KEY=$(openssl pkey -in /root/key.pem -pubout | base64 --wrap 0) {name}")
          machine.succeed(f"{smoke} --key-file /root/key.pem >&2", timeout=600)
          machine.succeed(f"{attack} --auth on >&2", timeout=600)
    '';
  })
  // {
    needsBase = true;
  }
