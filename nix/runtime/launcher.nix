# The static program that starts Chromium (./launcher.c), cross-compiled for each architecture.
{ pkgs, architectures }:
{ arch, program }:
pkgs.pkgsCross.${architectures.${arch}.cross}.runCommandCC "browser-shell-runtime-launcher-${arch}"
  { meta.mainProgram = "chromium"; }
  ''
    mkdir -p "$out/bin"
    "$CC" -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -Os -static -s '-DPROGRAM="${program}"' -o "$out/bin/chromium" ${./launcher.c}
  ''
