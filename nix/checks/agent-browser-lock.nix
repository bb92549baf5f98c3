# What lies in the image is what the tests' lock file names, whole: no other version, no package that is imported and missing,
# no package of a package that nobody thought of.
{
  lib,
  runCommand,
  jq,
  agentBrowser,
  hostArch,
}:
let
  inherit (agentBrowser) node native;
in
runCommand "browser-shell-check-agent-browser-lock" { nativeBuildInputs = [ jq ]; } ''
  lock=${../../tests/e2e/package-lock.json}
  modules=${node.modules}

  # is NAME FOLDER: the version of FOLDER is the one that the lock file has for agent-browser, or under this name
  is() {
    wanted=$(jq --exit-status --raw-output --arg name "$1" \
      '.packages | (."node_modules/agent-browser/node_modules/\($name)" // ."node_modules/\($name)").version' "$lock")
    found=$(jq --raw-output .version "$2/package.json")
    if [ "$found" != "$wanted" ]; then
      echo "$1: the image has $found, the lock file $wanted" >&2
      exit 1
    fi
    echo "$1 $found" >>"$out"
  }
  is agent-browser ${node.package hostArch}
  is agent-browser-native ${native.package hostArch}
  ${lib.concatMapStrings (part: ''
    is ${part.name} "$modules/${part.name}"
    # what it needs in turn would have to be in the image, too
    jq --exit-status '(.dependencies // {}) == {}' "$modules/${part.name}/package.json" >/dev/null || {
      echo "${part.name} has dependencies of its own now" >&2
      exit 1
    }
  '') node.parts}

  jq --raw-output '.dependencies | keys[]' ${node.package hostArch}/package.json | LC_ALL=C sort >wanted
  ls "$modules" | LC_ALL=C sort >found
  diff wanted found
''
