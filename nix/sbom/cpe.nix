# VENDOR:PRODUCT of packages in the National Vulnerability Database, for those of which nixpkgs does not know it. Fonts are not in
# that database: their names have the same form, so that a private one can contain them.
{
  cairo = "cairographics:cairo";
  chromium-unwrapped = "google:chrome";
  cups = "openprinting:cups";
  dbus = "freedesktop:dbus";
  expat = "libexpat_project:libexpat";
  fontconfig = "fontconfig_project:fontconfig";
  freetype = "freetype:freetype";
  glib = "gnome:glib";
  harfbuzz = "harfbuzz_project:harfbuzz";
  liberation-fonts = "liberationfonts:liberation_fonts";
  libjpeg-turbo = "libjpeg-turbo:libjpeg-turbo";
  libpng = "libpng:libpng";
  libpng-apng = "libpng:libpng";
  libx11 = "x.org:libx11";
  libxcb = "x.org:libxcb";
  libxext = "x.org:libxext";
  libxfixes = "x.org:libxfixes";
  libxfont_2 = "x.org:libxfont2";
  libxkbcommon = "xkbcommon:libxkbcommon";
  libxrandr = "x.org:libxrandr";
  noto-fonts = "google:noto_fonts";
  noto-fonts-cjk-sans = "google:noto_sans_cjk";
  noto-fonts-color-emoji = "google:noto_color_emoji";
  novnc = "novnc:novnc";
  nspr = "mozilla:netscape_portable_runtime";
  nss = "mozilla:nss";
  nss-cacert = "mozilla:nss_cacert";
  openssl = "openssl:openssl";
  pango = "gnome:pango";
  pixman = "pixman:pixman";
  systemd-minimal-libs = "systemd_project:systemd";
  tigervnc = "tigervnc:tigervnc";
  xkeyboard-config = "x.org:xkeyboard-config";
  # Its source is a part of TigerVNC's Xvnc.
  xorg-server = "x.org:x_server";
  zlib = "zlib:zlib";
}
