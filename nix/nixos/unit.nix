# Settings of the service, from the unit for other distributions: the lines below its comment about this file. So the confinement
# of both is the same.
{ lib }:
let
  text = builtins.readFile ../../deploy/systemd/browser-shell.service;
  service = lib.head (lib.splitString "\n[Install]" text);
  common = lib.last (lib.splitString "\n# Everything below" service);
  # The first line is the rest of the comment.
  lines = lib.filter (line: line != "" && !lib.hasPrefix "#" line) (
    lib.tail (lib.splitString "\n" common)
  );
  parse =
    line:
    let
      parts = builtins.match "([A-Za-z]+)=(.*)" line;
    in
    lib.nameValuePair (lib.elemAt parts 0) (lib.elemAt parts 1);
in
lib.listToAttrs (map parse lines)
