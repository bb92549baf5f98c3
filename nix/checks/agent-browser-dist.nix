# The program speaks to a daemon only whose files it knows (src/transport/proof.rs). Were one byte of dist/ other than npm's, or
# were another version packaged, it would say nothing and be slow: this says so instead. The daemon must start with what is
# there, too.
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
    flavour = "node";
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
    python3 ${../../tests/image/proved.py} ${../../src/transport/proof.rs} ${named "agent-browser"}/opt/agent-browser | tee "$out"

    # as the layers put them together
    mkdir -p image
    cp -R ${named "agent-browser"}/opt/agent-browser/. ${named "node-modules"}/opt/agent-browser/. image
    for file in image/dist/*.js; do
      case $file in
        # these two begin to serve when they are loaded
        */daemon.js | */auth-cli.js) node --check "$file" ;;
        *) HOME=$PWD node --input-type=module --eval 'await import(process.argv[1])' "$PWD/$file" ;;
      esac
    done
    echo "every module of dist/ finds what it imports" | tee -a "$out"
  ''
