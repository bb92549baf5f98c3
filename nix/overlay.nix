# Adds `browser-shell` and its `browser-shell-agent-browser` to a package set. They are the packages of this flake, so the program is the released
# one whatever the package set is.
{ packagesOf }:
final: _:
let
  packages = packagesOf final.stdenv.hostPlatform.system;
in
{
  inherit (packages) browser-shell;
  browser-shell-agent-browser = packages.agent-browser;
}
