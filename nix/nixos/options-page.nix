# docs/nixos-options.md: the options of the module with their types, defaults and descriptions.
# A text of the evaluation alone, so that the page in the repository can be compared without a build.
{
  lib,
  pkgs,
  nixosModule,
}:
let
  evaluated = lib.evalModules {
    modules = [
      nixosModule
      {
        _module.args = {
          inherit pkgs;
          utils = { };
        };
        # Of NixOS' own options, only the descriptions of ours are needed.
        _module.check = false;
      }
    ];
  };
  all = lib.optionAttrSetToDocList evaluated.options.services.browser-shell;
  shown = lib.filter (option: option.visible == true && !option.internal) all;
  # One line, in which `|` does not end a cell.
  cell =
    text:
    lib.replaceStrings [ "|" ] [ "\\|" ] (
      lib.concatStringsSep " " (
        lib.filter (word: word != "") (lib.splitString " " (lib.replaceStrings [ "\n" ] [ " " ] text))
      )
    );
  default = option: if option ? default then "`${cell option.default.text}`" else "";
  example = option: lib.optionalString (option ? example) " Example: `${cell option.example.text}`";
  row =
    option:
    "| `${lib.removePrefix "services.browser-shell." option.name}` | ${cell option.type} | ${default option} | ${cell option.description}${example option} |";
in
''
  # Options of the NixOS module

  All are below `services.browser-shell`. [how-to/nixos.md](how-to/nixos.md) shows how to use them. This page is generated: `nix run .#nixos-options`.

  | option | type | default | meaning |
  |---|---|---|---|
  ${lib.concatMapStringsSep "\n" row shown}
''
