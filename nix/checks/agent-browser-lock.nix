# Checks that the image's npm packages have the versions of the tests' lock file, and that none has dependencies of its own,
# which would be missing in the image.
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

  # check_version NAME FOLDER: fails unless the package in FOLDER has the version of NAME in the lock file
  check_version() {
    wanted=$(jq --exit-status --raw-output --arg name "$1" \
      '.packages | (."node_modules/agent-browser/node_modules/\($name)" // ."node_modules/\($name)").version' "$lock")
    found=$(jq --raw-output .version "$2/package.json")
    if [ "$found" != "$wanted" ]; then
      echo "$1: the image has version $found, the lock file $wanted" >&2
      exit 1
    fi
    echo "$1 $found" >>"$out"
  }
  check_version agent-browser ${node.package hostArch}
  check_version agent-browser-native ${native.package hostArch}
  ${lib.concatMapStrings (part: ''
    check_version ${part.name} "$modules/${part.name}"
    # Dependencies of the package would be missing in the image.
    jq --exit-status '(.dependencies // {}) == {}' "$modules/${part.name}/package.json" >/dev/null || {
      echo "${part.name} has dependencies, which the image does not contain" >&2
      exit 1
    }
  '') node.parts}

  jq --raw-output '.dependencies | keys[]' ${node.package hostArch}/package.json | LC_ALL=C sort >wanted
  ls "$modules" | LC_ALL=C sort >found
  diff wanted found
''
