# Runs a standalone image in a virtual machine, in podman with its flags in deploy/. A second machine simulates the internet.
# It needs KVM, so `nix build .#checks-without-base` excludes it, although it does not need the base image.
{
  lib,
  testers,
  vm,
}:
{
  hostArch,
  # The image of ./default.nix.
  standalone,
  # Name of the image in deploy/.
  kind,
  # Further programs of the test script.
  packages ? _: [ ],
  # Starts the container and uses it as its clients do. It may define functions for `again`; `run` starts the container, and
  # `name` is the image.
  first,
  # The same use again, after a restart.
  again,
}:
let
  built = standalone.image { arch = hostArch; };
  flags = lib.replaceStrings [ "seccomp=deploy/runtime/" ] [ "seccomp=${../../deploy/runtime}/" ] (
    vm.flagsOf (../../deploy + "/${kind}/flags")
  );
in
(testers.runNixOSTest {
  name = "browser-shell-vm-${kind}";
  globalTimeout = 30 * 60;

  nodes = vm.nodes {
    memorySize = 8 * 1024;
    diskSize = 10 * 1024;
    packages = pkgs: [ pkgs.python3 ] ++ packages pkgs;
  };

  testScript = ''
    run = "podman run --detach --name ${kind} --dns ${vm.web} ${flags}"
    name = "${built.imageName}:${built.imageTag}"

    ${vm.start}

    with subtest("podman loads the image"):
        machine.succeed("${built.copyToPodman}/bin/copy-to-podman >&2", timeout=900)

    ${first}

    with subtest("Chromium's sandbox is on"):
        processes = machine.succeed("podman top ${kind} args")
        assert "--type=zygote" in processes and "--no-sandbox" not in processes, processes

    with subtest("it has no shell, and its processes have no privileges and cannot gain any"):
        machine.succeed("podman exec ${kind} /usr/local/bin/browser-shell --version >&2")
        for shell in "sh", "bash", "/bin/sh", "busybox":
            machine.fail(f"podman exec ${kind} {shell} -c true")
        pid = machine.succeed("podman inspect ${kind} --format '{{.State.Pid}}'").strip()
        status = machine.succeed(f"cat /proc/{pid}/status")
        nothing = "0" * 16
        for wanted in "Uid:\t1000\t1000\t1000\t1000", f"CapBnd:\t{nothing}", f"CapEff:\t{nothing}", "NoNewPrivs:\t1", "Seccomp:\t2":
            assert wanted in status, status

    with subtest("it works after a restart, with the same workspace"):
        machine.succeed("podman restart --time 30 ${kind}")
        ${again}

    with subtest("it exits on SIGTERM without being killed"):
        machine.succeed("podman stop --time 30 ${kind}")
        code = machine.succeed("podman inspect ${kind} --format '{{.State.ExitCode}}'").strip()
        assert code != "137", code
  '';
})
// {
  needsKvm = true;
}
