# Settings as flags, such as `--max-sessions=8`; a list repeats its flag.
{ lib, settings }:
lib.concatLists (
  lib.mapAttrsToList (name: value: map (one: "--${name}=${toString one}") (lib.toList value)) settings
)
