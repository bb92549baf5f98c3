# What is in the runtime's image, as folders that become its layers, the slowest to change first: fonts, then what nixpkgs
# brings, then agent-browser, the program, and last the few files that say how they are run.
# Must never hold a shell, a package manager or a setuid program: nothing in here starts one (nix/checks/runtime-contents.nix).
{
  lib,
  runCommand,
  agentBrowser,
  crate,
  runtimeFonts,
  runtimePrograms,
  sources,
}:
let
  # The first ordinary user of most systems, so that a volume that a person made is mostly theirs already. It has a name
  # because Chromium and NSS ask for one; it can become nobody else.
  user = {
    uid = 1000;
    gid = 1000;
  };

  # The folders that are written to; everything else may be mounted read-only. A mount takes the mode of the folder that it is
  # mounted on, and root for its owner, with some engines whatever they are told: hence 1777, and /run itself, below which the
  # program makes a folder of its own (image.env). A new volume takes the owner too.
  written = {
    "/run" = {
      mode = "1777";
      uid = 0;
      gid = 0;
    };
    "/tmp" = written."/run";
    "/workspace" = user // {
      mode = "0700";
    };
  };

  agentBrowserOf =
    arch:
    runCommand "browser-shell-runtime-agent-browser-${arch}" { allowedReferences = [ ]; } ''
      install -D -m 755 -t "$out/usr/local/bin" ${agentBrowser.native.static arch}/bin/agent-browser
      install -D -m 644 -t "$out/usr/share/doc/agent-browser" ${agentBrowser.native.static arch}/LICENSE
    '';

  program =
    arch:
    runCommand "browser-shell-runtime-program-${arch}" { allowedReferences = [ ]; } ''
      install -D -m 755 -t "$out/usr/local/bin" ${crate.static arch}/bin/browser-shell
    '';

  own = runCommand "browser-shell-runtime-rootfs" { allowedReferences = [ ]; } ''
    install -D -m 644 -t "$out/etc" ${./root/etc}/{passwd,group,nsswitch.conf}
    # nixpkgs' Chromium reads them there; they are the same as the other image's, and so is the guard that they name
    install -D -m 644 -t "$out/etc/chromium/policies/managed" ${sources.rootfs}/etc/browser/policies/managed/*.json
    install -D -m 644 -t "$out/etc/agent-browser" ${sources.rootfs}/etc/agent-browser/*.example.json
    mkdir -p "$out/app/skills"
    cp -R --no-preserve=ownership,mode ${sources.skills}/browser-runtime "$out/app/skills"
    install -D -m 644 ${../../LICENSE} "$out/usr/share/doc/browser-shell/LICENSE"
    mkdir -p ${lib.concatMapStringsSep " " (path: "\"$out\"${path}") (lib.attrNames written)}
  '';

  layer = name: root: perms: { inherit name root perms; };
in
{
  inherit own user;

  # The environment of image.env, as a list of KEY=VALUE.
  environment = lib.filter (line: line != "" && !lib.hasPrefix "#" line) (
    lib.splitString "\n" (builtins.readFile ./image.env)
  );

  layers = arch: [
    (layer "fonts" runtimeFonts [ ])
    (layer "programs" (runtimePrograms arch) [ ])
    (layer "agent-browser" (agentBrowserOf arch) [ ])
    (layer "program" (program arch) [ ])
    (layer "rootfs" own (
      lib.mapAttrsToList (
        path: change:
        {
          path = own;
          regex = "^${lib.escapeRegex "${own}${path}"}$";
        }
        // change
      ) written
    ))
  ];
}
