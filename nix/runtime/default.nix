# The image of `browser-shell runtime`: a headless Chromium and its server.
{ standalone, sources }:
standalone {
  name = "browser-shell-runtime";
  description = "A headless Chromium behind a URL policy, driven over HTTP and MCP";
  command = "runtime";
  port = 8115;
  environment = ./image.env;
  # The engine of the profile `compat`.
  flavor = "native";
  files = ''
    mkdir -p "$out/app/skills"
    cp -R --no-preserve=ownership,mode ${sources.skills}/browser-runtime "$out/app/skills"
  '';
}
