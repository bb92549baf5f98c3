# Checks that no image is made over a base whose configuration has a part that nix2container would drop, but for its check of health, which
# the image keeps, and for what is about builds.
{
  lib,
  runCommand,
  base,
  image,
  hostArch,
}:
let
  # The image over a base with these members in its configuration.
  over =
    members:
    image.override {
      base = base // {
        config = _: { Env = [ "PATH=/usr/bin" ]; } // members;
      };
    } { arch = hostArch; };
  # Returns whether it can be evaluated.
  accepted = members: (builtins.tryEval (builtins.deepSeq (over members).configuration true)).success;

  healthcheck.Test = [
    "CMD"
    "true"
  ];
  checked = over {
    Healthcheck = healthcheck;
    OnBuild = [ "RUN true" ];
  };

  dropped = {
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
    ++ lib.optional (!accepted kept) "members that are kept"
    ++ lib.optional (checked.inherited == "") "Healthcheck"
    ++ lib.optional (checked.configuration.Healthcheck != healthcheck) "Healthcheck"
    ++ lib.optional (checked.configuration ? OnBuild) "OnBuild"
    ++ lib.optional ((over empty).inherited != "") "an empty Healthcheck";
in
assert lib.assertMsg (
  wrong == [ ]
) "wrong decision for a base's configuration with: ${lib.concatStringsSep ", " wrong}";
runCommand "browser-shell-check-base-configuration" { } ''
  grep --fixed-strings --line-regexp '{"Healthcheck":{"Test":["CMD","true"]}}' ${checked.inherited}
  echo "refused: ${lib.concatStringsSep " " (lib.attrNames dropped)}" | tee "$out"
''
