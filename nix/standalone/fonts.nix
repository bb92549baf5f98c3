# The fonts of the standalone images: substitutes for the fonts that pages usually request, and at least one font for each
# widely used script. Without a font, a page's text is shown as boxes.
#
# | font | used for | reason |
# |---|---|---|
# | Liberation 2 | Latin, Greek, Cyrillic | same widths as Arial, Times New Roman and Courier New, so lines break as intended |
# | Noto Sans, the scripts below | Arabic, Hebrew, Indic, Thai ... | one variable font per script for all weights |
# | Noto Sans CJK | Chinese, Japanese, Korean | one variable font; the monospaced and serif fonts are too large |
# | Noto Color Emoji | emoji | the only complete color font |
#
# They come from the host's package set and are installed outside of /nix/store, so that both hosts build the same layer.
{
  lib,
  runCommand,
  liberation_ttf,
  noto-fonts,
  noto-fonts-cjk-sans,
  noto-fonts-color-emoji,
  licenses,
}:
let
  scripts = [
    "Arabic"
    "Armenian"
    "Bengali"
    "Devanagari"
    "Ethiopic"
    "Georgian"
    "Gujarati"
    "Gurmukhi"
    "Hebrew"
    "Kannada"
    "Khmer"
    "Lao"
    "Malayalam"
    "Math"
    "Myanmar"
    "Sinhala"
    "Symbols"
    "Symbols2"
    "Tamil"
    "Telugu"
    "Thai"
  ];
in
runCommand "browser-shell-fonts"
  {
    allowedReferences = [ ];
    passthru.packages = [
      liberation_ttf
      noto-fonts
      noto-fonts-cjk-sans
      noto-fonts-color-emoji
    ];
  }
  ''
    # take FOLDER PATTERN: copies the package's font files that match; fails if there are none
    take() {
      found=$(find "$1/share/fonts" -type f -name "$2")
      [ -n "$found" ] || { echo "there is no $2 in $1" >&2 && exit 1; }
      for file in $found; do
        install -D -m 644 -t "$out/usr/share/fonts" "$file"
      done
    }
    take ${liberation_ttf} 'Liberation*.ttf'
    for script in ${lib.concatStringsSep " " scripts}; do
      # A variable font has all weights in one file. For the few other fonts, the regular weight is enough.
      if [ -n "$(find ${noto-fonts}/share/fonts -name "NotoSans$script.ttf")" ]; then
        take ${noto-fonts} "NotoSans$script.ttf"
      else
        take ${noto-fonts} "NotoSans$script-Regular.?tf"
      fi
    done
    take ${noto-fonts-cjk-sans} 'NotoSansCJK*.ttc'
    take ${noto-fonts-color-emoji} 'NotoColorEmoji.ttf'
    install -D -m 644 ${./root/etc/fonts/fonts.conf} "$out/etc/fonts/fonts.conf"
    ${licenses.fonts}
  ''
