# What the image adds to the base, as folders that become its layers: one folder for each speed at which things change, the
# slowest first, so that an edit of the program makes nobody fetch Node's packages again.
# Must never name a single file of rootfs/ (it is copied as it is, see its README), nor refer to the Nix store.
{
  lib,
  runCommand,
  bash,
  jq,
  agentBrowser,
  base,
  crate,
  sources,
}:
let
  # every folder on the way to these paths, as `/opt`, `/opt/gem`; the root itself is ""
  foldersOf =
    paths:
    let
      above = path: if path == "" then [ ] else [ path ] ++ above (parent path);
      parent = path: lib.concatStringsSep "/" (lib.init (lib.splitString "/" path));
    in
    lib.unique ([ "" ] ++ lib.concatMap above paths);

  # In a layer a folder that the base has too takes the mode that the layer says, which would be 0555. `folders` are named with
  # what leads to them; a program may stand among them.
  layer = name: root: folders: {
    inherit name root;
    perms = [
      {
        path = root;
        regex = "^${lib.escapeRegex "${root}"}(${
          lib.concatMapStringsSep "|" lib.escapeRegex (foldersOf folders)
        })$";
        mode = "0755";
        uid = 0;
        gid = 0;
      }
    ];
  };

  skill = "/opt/skills/browser-shell";
  license = "/usr/share/doc/browser-shell";

  # not for the image: for those who build it
  meant = [
    "README.md"
    "image.env"
    "generation"
  ];
  ownFiles = lib.filter (path: !lib.elem path meant) (
    map (lib.removePrefix "${toString ../rootfs}/") (
      map toString (lib.filesystem.listFilesRecursive ../rootfs)
    )
  );
  ownFolders = [
    skill
    license
  ]
  ++ map (path: "/" + dirOf path) ownFiles;

  own =
    runCommand "browser-shell-rootfs"
      {
        nativeBuildInputs = [
          bash
          jq
        ];
        allowedReferences = [ ];
      }
      ''
        cp -R --no-preserve=ownership ${sources.rootfs} "$out"
        chmod -R u+w "$out"
        rm ${lib.concatMapStringsSep " " (name: "\"$out\"/${name}") meant}
        bash ${sources.rootfs}/generation "$out" ${base.generation}

        # Chromium takes a policy file that it cannot read for none at all
        find "$out" \( -name '*.json' -o -name '*.json.template' \) -type f -print | while read -r file; do
          jq --exit-status 'type == "object"' "$file" >/dev/null || {
            echo "$file is no JSON object" >&2
            exit 1
          }
        done
        jq --exit-status '.mcpServers | keys == ["browser-shell"]' "$out/opt/gem/mcp-hub.json.template" >/dev/null

        mkdir -p "$out${skill}" "$out${license}"
        cp -R --no-preserve=ownership,mode ${sources.skills}/browser-shell/. "$out${skill}"
        install -m 644 ${../LICENSE} "$out${license}/LICENSE"
      '';

  program =
    arch:
    runCommand "browser-shell-program-${arch}" { allowedReferences = [ ]; } ''
      install -D -m 755 ${crate.static arch}/bin/browser-shell "$out/usr/local/bin/browser-shell"
    '';

  agentBrowserOf =
    { arch, flavour }:
    runCommand "browser-shell-agent-browser-${flavour}-${arch}" { allowedReferences = [ ]; } ''
      mkdir -p "$out/opt" "$out/usr/local/bin"
      cp -R --no-preserve=ownership ${agentBrowser.${flavour}.package arch} "$out/opt/agent-browser"
      ln -s /opt/agent-browser/bin/agent-browser "$out/usr/local/bin/agent-browser"
    '';

  modulesOf =
    flavour:
    runCommand "browser-shell-node-modules" { allowedReferences = [ ]; } ''
      mkdir -p "$out/opt/agent-browser"
      cp -R --no-preserve=ownership ${
        agentBrowser.${flavour}.modules
      } "$out/opt/agent-browser/node_modules"
    '';
in
{
  inherit own;

  # The environment of image.env, as a list of KEY=VALUE.
  environment = lib.filter (line: line != "" && !lib.hasPrefix "#" line) (
    lib.splitString "\n" (builtins.readFile ../rootfs/image.env)
  );

  layers =
    { arch, flavour }:
    lib.optional (agentBrowser.${flavour}.modules != null) (
      layer "node-modules" (modulesOf flavour) [ "/opt/agent-browser/node_modules" ]
    )
    ++ [
      (layer "agent-browser" (agentBrowserOf { inherit arch flavour; }) (
        [
          "/opt/agent-browser/bin/agent-browser"
          "/usr/local/bin"
        ]
        ++ lib.optional (flavour == "node") "/opt/agent-browser/dist"
      ))
      (layer "program" (program arch) [ "/usr/local/bin/browser-shell" ])
      (layer "rootfs" own ownFolders)
    ];
}
