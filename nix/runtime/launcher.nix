# The static program that starts Chromium (./launcher.rs), for each architecture.
{
  runCommand,
  architectures,
  toolchain,
}:
{ arch, program }:
runCommand "browser-shell-runtime-launcher-${arch}"
  {
    nativeBuildInputs = [ toolchain ];
    meta.mainProgram = "chromium";
    PROGRAM = program;
    # The host's tools would change only programs of their own architecture.
    dontStrip = true;
    dontPatchELF = true;
  }
  ''
    mkdir -p "$out/bin"
    rustc --edition 2024 --target ${architectures.${arch}.target} --deny warnings -C linker=rust-lld -C target-feature=+crt-static \
      -C codegen-units=1 -C lto -C opt-level=s -C panic=abort -C strip=symbols -o "$out/bin/chromium" ${./launcher.rs}
  ''
