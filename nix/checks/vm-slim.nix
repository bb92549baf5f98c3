# Runs the slim image in a virtual machine and uses it as an agent and a person do (../standalone/vm.nix). It needs no base image,
# so it runs for every change, on hosts of both architectures that have KVM.
{
  slim,
  sources,
  standaloneVm,
  hostArch,
}:
let
  smoke = ''machine.succeed("python3 ${sources.tests}/image/smoke.py http://127.0.0.1:8080 http://shop.example.com/ --key-file /root/key.pem --text >&2", timeout=600)'';
in
standaloneVm {
  inherit hostArch;
  standalone = slim;
  kind = "slim";
  packages = pkgs: [
    pkgs.openssl
    pkgs.strace
  ];
  first = ''
    machine.succeed("openssl genrsa -out /root/key.pem 2048")
    key = "JWT_PUBLIC_KEY=$(openssl pkey -in /root/key.pem -pubout | base64 --wrap 0)"

    with subtest("it does not start without credentials"):
        machine.succeed(f"{run} {name}")
        assert machine.succeed("podman wait slim").strip() != "0"
        assert "has no credentials" in machine.succeed("podman logs slim 2>&1")
        machine.succeed("podman rm slim")

    with subtest("an agent and a person can use it"):
        trace = "strace --follow-forks --seccomp-bpf --trace=execve,execveat --output=/root/trace"
        machine.succeed(f"{trace} {run} --env {key} {name} >/dev/null 2>&1 &")
        ${smoke}

    with subtest("the attack requests are refused"):
        machine.succeed("python3 ${sources.tests}/aio-base/attack.py http://127.0.0.1:8080 --serve --auth on >&2", timeout=600)

    with subtest("nothing in it starts a shell"):
        machine.succeed("python3 ${sources.tests}/image/started_programs.py /root/trace >&2")
  '';
  again = smoke;
}
