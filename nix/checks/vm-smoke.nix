# Runs the image in a virtual machine, in podman with the documented flags. A second machine simulates the internet.
# It needs KVM, the base image (a 3.4 GB download) and about 30 GB of disk, so `nix build .#checks-without-base` excludes it.
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
      # The container's limit is 8 GB.
      memorySize = 10 * 1024;
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

      with subtest("podman loads the image"):
          machine.succeed("${built.copyToPodman}/bin/copy-to-podman >&2", timeout=2400)

      with subtest("an agent and a person can use it"):
          machine.succeed(f"{run} {name}")
          machine.succeed(f"{smoke} >&2", timeout=600)

      with subtest("it contains the program and no /nix"):
          machine.succeed("podman exec box test -x /usr/local/bin/browser-shell")
          machine.succeed("podman exec box sh -c '! test -e /nix'")
          machine.succeed("podman exec --user 10079 box env PATH=/usr/bin:/bin /usr/local/bin/browser-shell --version >&2")

      with subtest("the wall refuses the attack requests"):
          machine.succeed(f"{attack} --auth off >&2", timeout=600)

      with subtest("it works after a restart"):
          machine.succeed("podman restart --time 30 box")
          machine.succeed(f"{smoke} >&2", timeout=600)
          machine.succeed("podman rm --force --time 30 box")

      with subtest("with a key set, requests without credentials are refused"):
          machine.succeed("openssl genrsa -out /root/key.pem 2048")
          machine.succeed(f"{run} --env JWT_PUBLIC_KEY=$(openssl pkey -in /root/key.pem -pubout | base64 --wrap 0) {name}")
          machine.succeed(f"{smoke} --key-file /root/key.pem >&2", timeout=600)
          machine.succeed(f"{attack} --auth on >&2", timeout=600)
    '';
  })
  // {
    needsBase = true;
  }
