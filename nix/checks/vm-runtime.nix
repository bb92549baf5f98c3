# Runs the runtime's image in a virtual machine, in podman with the documented flags. A second machine simulates the internet.
# It needs KVM, so `nix build .#checks-without-base` excludes it, although it does not need the base image.
{
  lib,
  testers,
  runtimeImage,
  sources,
  vm,
  hostArch,
}:
let
  built = runtimeImage { arch = "amd64"; };
  flags = lib.replaceStrings [ "seccomp=deploy/runtime/" ] [ "seccomp=${../../deploy/runtime}/" ] (
    vm.flagsOf ../../deploy/runtime/flags
  );
in
if hostArch != "amd64" then
  null
else
  (testers.runNixOSTest {
    name = "browser-shell-vm-runtime";
    globalTimeout = 30 * 60;

    nodes = vm.nodes {
      memorySize = 8 * 1024;
      diskSize = 10 * 1024;
      packages = pkgs: [ pkgs.python3 ];
    };

    testScript = ''
      run = "podman run --detach --name runtime --dns ${vm.web} ${flags} ${built.imageName}:${built.imageTag}"
      smoke = "python3 ${sources.tests}/image/runtime_smoke.py http://127.0.0.1:8115 http://shop.example.com/"

      ${vm.start}

      with subtest("podman loads the image"):
          machine.succeed("${built.copyToPodman}/bin/copy-to-podman >&2", timeout=900)

      with subtest("an orchestrator can use it"):
          machine.succeed(run)
          machine.succeed(f"{smoke} >&2", timeout=600)

      with subtest("Chromium's renderer sandbox is on"):
          processes = machine.succeed("podman top runtime args")
          assert "--type=renderer" in processes and "--no-sandbox" not in processes, processes

      with subtest("it has no shell, and its processes have no privileges and cannot gain any"):
          machine.succeed("podman exec runtime /usr/local/bin/browser-shell --version >&2")
          for shell in "sh", "bash", "/bin/sh", "busybox":
              machine.fail(f"podman exec runtime {shell} -c true")
          pid = machine.succeed("podman inspect runtime --format '{{.State.Pid}}'").strip()
          status = machine.succeed(f"cat /proc/{pid}/status")
          nothing = "0" * 16
          for wanted in "Uid:\t1000\t1000\t1000\t1000", f"CapBnd:\t{nothing}", f"CapEff:\t{nothing}", "NoNewPrivs:\t1", "Seccomp:\t2":
              assert wanted in status, status

      with subtest("screenshots are in the workspace"):
          machine.succeed("test -s $(podman volume inspect browser-shell-runtime --format '{{.Mountpoint}}')/smoke/page.png")

      with subtest("it works after a restart, with the same workspace"):
          machine.succeed("podman restart --time 30 runtime")
          machine.succeed(f"{smoke} >&2", timeout=600)

      with subtest("it exits on SIGTERM without being killed"):
          machine.succeed("podman stop --time 30 runtime")
          code = machine.succeed("podman inspect runtime --format '{{.State.ExitCode}}'").strip()
          assert code != "137", code
    '';
  })
  // {
    needsKvm = true;
  }
