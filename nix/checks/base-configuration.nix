# Checks that no image is made over a base whose configuration has a part that nix2container would drop.
{
  lib,
  runCommand,
  base,
  image,
  hostArch,
}:
let
  # Returns whether an image can be evaluated over a base with these members in its configuration.
  accepted =
    members:
    let
      built = image.override {
        base = base // {
          config = _: { Env = [ "PATH=/usr/bin" ]; } // members;
        };
      };
    in
    (builtins.tryEval (builtins.deepSeq (built { arch = hostArch; }).configuration true)).success;

  dropped = {
    Healthcheck.Test = [
      "CMD"
      "true"
    ];
    OnBuild = [ "RUN true" ];
    Shell = [
      "/bin/bash"
      "-c"
    ];
    MemberOfAnotherVersion = "value";
  };
  empty = {
    Healthcheck = null;
    OnBuild = [ ];
    Shell = null;
    AttachStdin = false;
    Hostname = "";
  };
  kept = {
    Cmd = [ "run" ];
    StopSignal = "SIGINT";
    Labels.vendor = "base";
  };
  wrong =
    lib.filter (name: accepted { ${name} = dropped.${name}; }) (lib.attrNames dropped)
    # Controls.
    ++ lib.optional (!accepted empty) "empty members"
    ++ lib.optional (!accepted kept) "members that are kept";
in
assert lib.assertMsg (
  wrong == [ ]
) "wrong decision for a base's configuration with: ${lib.concatStringsSep ", " wrong}";
runCommand "browser-shell-check-base-configuration" { } ''
  echo "refused: ${lib.concatStringsSep " " (lib.attrNames dropped)}" | tee "$out"
''
