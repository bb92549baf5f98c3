# The layers of a standalone image. Parts that rarely change come first: fonts, programs from nixpkgs, parts of the image alone,
# agent-browser where it is needed, the program, configuration files.
# There is no shell, package manager or setuid program (./contents.nix checks this).
{
  lib,
  runCommand,
  agentBrowser,
  crate,
  licenses,
  sources,
  standaloneFonts,
}:
{
  # Name of the image.
  name,
  # The layer of ./programs.nix for each architecture.
  programs,
  # File with the variables of the image.
  environment,
  # Flavor of agent-browser, or null.
  flavor,
  # The bill of materials of the image for an architecture.
  sbom,
  # Commands that add the files of this image alone to $out.
  files ? "",
  # Further layers of the image alone: name and root of each.
  further ? [ ],
}:
let
  # The first regular user on most systems, so a volume that a person created usually has the right owner already. It has a
  # name because Chromium and NSS look it up.
  user = {
    uid = 1000;
    gid = 1000;
  };

  # The writable folders; everything else may be mounted read-only. A tmpfs takes the mode of the folder below it, but with some
  # engines root always owns it. So /run has mode 1777, and the program creates its own folder in it (image.env). A new volume
  # takes the owner too.
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
    let
      package = agentBrowser.${flavor}.static arch;
    in
    runCommand "browser-shell-agent-browser-static-${arch}" { allowedReferences = [ ]; } ''
      install -D -m 755 -t "$out/usr/local/bin" ${package}/bin/agent-browser
      install -D -m 644 -t "$out/usr/share/doc/agent-browser" ${package}/LICENSE
    '';
  # Both images share this layer.
  program =
    arch:
    runCommand "browser-shell-standalone-program-${arch}" { allowedReferences = [ ]; } ''
      install -D -m 755 -t "$out/usr/local/bin" ${crate.static arch}/bin/browser-shell
    '';

  licensesOf =
    arch:
    runCommand "${name}-licenses-${arch}" { allowedReferences = [ ]; } ''
      mkdir -p "$out/usr/share/doc/browser-shell"
      cp -R --no-preserve=ownership,mode ${licenses.program} "$out/usr/share/doc/browser-shell/licenses"
      cp -R --no-preserve=ownership,mode ${
        licenses.packages (sbom {
          inherit arch;
        })
      } "$out/usr/share/doc/nixpkgs"
    '';

  own = runCommand "${name}-rootfs" { allowedReferences = [ ]; } ''
    install -D -m 644 -t "$out/etc" ${./root/etc}/{passwd,group,nsswitch.conf}
    # The path of nixpkgs' Chromium. The policies are those of the image on the base, but the program starts Chromium and chooses
    # the guard's address for a session: a managed proxy would replace it.
    install -D -m 644 -t "$out/etc/chromium/policies/managed" \
      ${sources.rootfs}/etc/browser/policies/managed/zz-browser-shell.json ${./root/etc/chromium/policies/managed}/*.json
    install -D -m 644 -t "$out/etc/agent-browser" ${sources.rootfs}/etc/agent-browser/*.example.json
    install -D -m 644 ${../../LICENSE} "$out/usr/share/doc/browser-shell/LICENSE"
    mkdir -p ${lib.concatMapStringsSep " " (path: "\"$out\"${path}") (lib.attrNames written)}
    ${files}
  '';

  layer = name: root: perms: { inherit name root perms; };
in
{
  inherit own user;

  # The lines of the file, as a list of KEY=VALUE.
  environment = lib.filter (line: line != "" && !lib.hasPrefix "#" line) (
    lib.splitString "\n" (builtins.readFile environment)
  );

  layers =
    arch:
    [
      (layer "fonts" standaloneFonts [ ])
      (layer "programs" (programs arch) [ ])
    ]
    ++ map (part: layer part.name part.root [ ]) further
    ++ lib.optional (flavor != null) (layer "agent-browser" (agentBrowserOf arch) [ ])
    ++ [
      (layer "licenses" (licensesOf arch) [ ])
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
