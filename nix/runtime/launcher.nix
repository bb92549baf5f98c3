# The program that becomes Chromium, static, for each architecture from either: see ./launcher.c.
{ pkgs, architectures }:
{ arch, program }:
pkgs.pkgsCross.${architectures.${arch}.cross}.runCommandCC "browser-shell-runtime-launcher-${arch}"
  { meta.mainProgram = "chromium"; }
  ''
    mkdir -p "$out/bin"
    "$CC" -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -Os -static -s '-DPROGRAM="${program}"' -o "$out/bin/chromium" ${./launcher.c}
  ''
