# The image's own layers. Parts that rarely change come first, so that a new program does not invalidate the layer of npm
# packages. rootfs/ is copied as a whole (see its README). Nothing in the layers refers to the Nix store.
{
  lib,
  runCommand,
  bash,
  jq,
  agentBrowser,
  base,
  crate,
  licenses,
  sources,
}:
let
  # All parent folders of these paths and the paths themselves, such as `/opt` and `/opt/gem`. The root is "".
  foldersOf =
    paths:
    let
      above = path: if path == "" then [ ] else [ path ] ++ above (parent path);
      parent = path: lib.concatStringsSep "/" (lib.init (lib.splitString "/" path));
    in
    lib.unique ([ "" ] ++ lib.concatMap above paths);

  # Sets `folders` and their parents to mode 0755: a layer overrides the modes of the base's folders, and in the Nix store all
  # folders have 0555. The list may contain a program.
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

  # Files that are not copied into the image.
  buildOnly = [
    "README.md"
    "image.env"
    "generation"
  ];
  ownFiles = lib.filter (path: !lib.elem path buildOnly) (
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
        rm ${lib.concatMapStringsSep " " (name: "\"$out\"/${name}") buildOnly}
        bash ${sources.rootfs}/generation "$out" ${base.generation}

        # Chromium ignores a policy file that it cannot parse.
        find "$out" \( -name '*.json' -o -name '*.json.template' \) -type f -print | while read -r file; do
          jq --exit-status 'type == "object"' "$file" >/dev/null || {
            echo "$file is not a JSON object" >&2
            exit 1
          }
        done
        for template in "$out"/opt/gem/{,templates/}mcp-hub.json.template; do
          jq --exit-status '.mcpServers | keys == ["browser-shell"]' "$template" >/dev/null
        done

        mkdir -p "$out${skill}" "$out${license}"
        cp -R --no-preserve=ownership,mode ${sources.skills}/browser-shell/. "$out${skill}"
        install -m 644 ${../LICENSE} "$out${license}/LICENSE"
      '';

  program =
    arch:
    runCommand "browser-shell-program-${arch}" { allowedReferences = [ ]; } ''
      install -D -m 755 ${crate.static arch}/bin/browser-shell "$out/usr/local/bin/browser-shell"
    '';

  programLicenses = runCommand "browser-shell-licenses" { allowedReferences = [ ]; } ''
    mkdir -p "$out${license}"
    cp -R --no-preserve=ownership,mode ${licenses.program} "$out${license}/licenses"
  '';

  agentBrowserOf =
    { arch, flavor }:
    runCommand "browser-shell-agent-browser-${flavor}-${arch}" { allowedReferences = [ ]; } ''
      mkdir -p "$out/opt" "$out/usr/local/bin"
      cp -R --no-preserve=ownership ${agentBrowser.${flavor}.package arch} "$out/opt/agent-browser"
      ln -s /opt/agent-browser/bin/agent-browser "$out/usr/local/bin/agent-browser"
    '';

  modulesOf =
    flavor:
    runCommand "browser-shell-node-modules" { allowedReferences = [ ]; } ''
      mkdir -p "$out/opt/agent-browser"
      cp -R --no-preserve=ownership ${agentBrowser.${flavor}.modules} "$out/opt/agent-browser/node_modules"
    '';
in
{
  inherit own;

  # The lines of image.env, as a list of KEY=VALUE.
  environment = lib.filter (line: line != "" && !lib.hasPrefix "#" line) (
    lib.splitString "\n" (builtins.readFile ../rootfs/image.env)
  );

  layers =
    { arch, flavor }:
    lib.optional (agentBrowser.${flavor}.modules != null) (
      layer "node-modules" (modulesOf flavor) [ "/opt/agent-browser/node_modules" ]
    )
    ++ [
      (layer "agent-browser" (agentBrowserOf { inherit arch flavor; }) (
        [
          "/opt/agent-browser/bin/agent-browser"
          "/usr/local/bin"
        ]
        ++ lib.optional (flavor == "node") "/opt/agent-browser/dist"
      ))
      (layer "licenses" programLicenses [ "${license}/licenses" ])
      (layer "program" (program arch) [ "/usr/local/bin/browser-shell" ])
      (layer "rootfs" own ownFolders)
    ];
}
