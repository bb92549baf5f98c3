# Checks that the packaged agent-browser is a version that the tests run with (crates/core/src/agent_browser.rs), and that all of its
# imports exist.
{
  runCommand,
  nodejs,
  python3,
  rootfs,
  hostArch,
}:
let
  layers = rootfs.layers {
    arch = hostArch;
    flavor = "node";
  };
  named = name: (builtins.head (builtins.filter (layer: layer.name == name) layers)).root;
in
runCommand "browser-shell-check-agent-browser-dist"
  {
    nativeBuildInputs = [
      nodejs
      python3
    ];
  }
  ''
    python3 ${../../tests/image/supported.py} ${../../crates/core/src/agent_browser.rs} ${named "agent-browser"}/opt/agent-browser | tee "$out"

    # Combined as in the image.
    mkdir -p image
    cp -R ${named "agent-browser"}/opt/agent-browser/. ${named "node-modules"}/opt/agent-browser/. image
    for file in image/dist/*.js; do
      case $file in
        # These two start a server when they are imported.
        */daemon.js | */auth-cli.js) node --check "$file" ;;
        *) HOME=$PWD node --input-type=module --eval 'await import(process.argv[1])' "$PWD/$file" ;;
      esac
    done
    echo "all imports of dist/ exist" | tee -a "$out"
  ''
