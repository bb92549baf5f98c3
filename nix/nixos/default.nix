# The NixOS module `services.browser-shell`. `packagesOf` returns the packages of a system, such as `browser-shell`.
{ packagesOf }:
{
  # The same module from two inputs is one.
  key = "browser-shell";
  imports = [
    (import ./options.nix { inherit packagesOf; })
    ./assertions.nix
    ./native.nix
    ./container.nix
  ];
}
