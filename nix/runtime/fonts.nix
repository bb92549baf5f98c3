# The fonts of the runtime's image, and how they are chosen: what pages ask for by name, and at least one font for every script
# that many people write. A page in a script without a font is a picture of boxes.
#
# | font | for what | why this one |
# |---|---|---|
# | Liberation 2 | Latin, Greek, Cyrillic | as wide as Arial, Times New Roman and Courier New, so that pages break their lines as they were meant to |
# | Noto Sans, the scripts below | Arabic, Hebrew, Indic, Thai ... | one variable file for all weights of a script |
# | Noto Sans CJK | Chinese, Japanese, Korean | one variable file; without the monospaced one, and without the serif ones, which would each be as large again |
# | Noto Color Emoji | emoji | the only colour font with all of them |
#
# They are the same for both architectures, and come from the building machine's package set. They lie at a path of their own,
# outside of /nix/store, so that the layer is the same from either.
{
  lib,
  runCommand,
  liberation_ttf,
  noto-fonts,
  noto-fonts-cjk-sans,
  noto-fonts-color-emoji,
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
runCommand "browser-shell-runtime-fonts"
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
    # take FOLDER PATTERN: the files of a package with that name; there must be some
    take() {
      found=$(find "$1/share/fonts" -type f -name "$2")
      [ -n "$found" ] || { echo "there is no $2 in $1" >&2 && exit 1; }
      for file in $found; do
        install -D -m 644 -t "$out/usr/share/fonts" "$file"
      done
    }
    take ${liberation_ttf} 'Liberation*.ttf'
    for script in ${lib.concatStringsSep " " scripts}; do
      # a variable font has one file for all weights; of the few that are not, the regular weight is enough
      if [ -n "$(find ${noto-fonts}/share/fonts -name "NotoSans$script.ttf")" ]; then
        take ${noto-fonts} "NotoSans$script.ttf"
      else
        take ${noto-fonts} "NotoSans$script-Regular.?tf"
      fi
    done
    take ${noto-fonts-cjk-sans} 'NotoSansCJK*.ttc'
    take ${noto-fonts-color-emoji} 'NotoColorEmoji.ttf'
    install -D -m 644 ${./root/etc/fonts/fonts.conf} "$out/etc/fonts/fonts.conf"
  ''
