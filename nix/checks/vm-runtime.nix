# Runs the runtime's image in a virtual machine and uses it as an orchestrator does (../standalone/vm.nix).
{
  runtime,
  sources,
  standaloneVm,
  hostArch,
}:
let
  smoke = ''machine.succeed("python3 ${sources.tests}/image/runtime_smoke.py http://127.0.0.1:8115 http://shop.example.com/ >&2", timeout=600)'';
in
if hostArch != "amd64" then
  null
else
  standaloneVm {
    inherit hostArch;
    standalone = runtime;
    kind = "runtime";
    first = ''
      with subtest("an orchestrator can use it"):
          machine.succeed(f"{run} {name}")
          ${smoke}

      with subtest("screenshots are in the workspace"):
          machine.succeed("test -s $(podman volume inspect browser-shell-runtime --format '{{.Mountpoint}}')/smoke/page.png")
    '';
    again = smoke;
  }
