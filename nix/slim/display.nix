# The display of the slim image: Xvnc of nixpkgs' TigerVNC with two changes to the built program.
#
# It runs `/bin/sh -c 'xkbcomp ...'` at its start and ends without. The path of the shell is replaced by that of ./keymap.rs, which
# has the same length and writes a compiled keymap. And libraries that it is linked against without a use are dropped: nixpkgs'
# Xvnc is linked like the viewer, with a video decoder. A changed source instead would have to be compiled for each architecture,
# on a machine of that architecture.
{
  lib,
  runCommand,
  bash,
  binutils-unwrapped,
  gawk,
  patchelf,
  xkbcomp,
  xkeyboard_config,
  architectures,
  pkgsOf,
  staticProgram,
}:
let
  shell = "/bin/sh";
  keymapPath = "/opt/xk";

  # The default of an X server on Linux: Chromium expects its key codes.
  keymap = runCommand "browser-shell-slim-keymap" { nativeBuildInputs = [ xkbcomp ]; } ''
    xkbcomp -w 0 -R${xkeyboard_config}/share/X11/xkb -xkm ${./keymap.xkb} "$out"
  '';

  of =
    arch:
    let
      target = pkgsOf architectures.${arch}.system;
      xvnc =
        runCommand "tigervnc-xvnc-${target.tigervnc.version}"
          {
            nativeBuildInputs = [
              bash
              binutils-unwrapped
              gawk
              patchelf
            ];
            # The host's tools would change only programs of their own architecture.
            dontStrip = true;
            dontPatchELF = true;
          }
          ''
            bash ${./drop-unused} ${target.tigervnc}/bin/Xvnc Xvnc
            bash ${./replace-path} Xvnc ${shell} ${keymapPath}
            install -D -m 755 -t "$out/bin" Xvnc
          '';
    in
    {
      program = "${xvnc}/bin/Xvnc";
      packages = [
        target.tigervnc
        # Xvnc is made of its source.
        (target.xorg-server or target.xorg.xorgserver)
        target.xkeyboard_config
      ];
      # Xvnc reads the rules' names before it asks for a keymap.
      rules = [ "${target.xkeyboard_config}/share/X11/xkb/rules/evdev" ];
      keymap = staticProgram {
        inherit arch;
        name = "xk";
        source = ./keymap.rs;
        variables.KEYMAP = keymap;
      };
    };
in
assert lib.assertMsg (
  lib.stringLength shell == lib.stringLength keymapPath
) "`${keymapPath}` does not fit into the place of `${shell}`";
{
  inherit keymapPath;
  __functor = _: of;
}
