# A static program of one Rust file, for each architecture: the small starters of the standalone images.
{
  runCommand,
  architectures,
  toolchain,
}:
{
  arch,
  name,
  source,
  # Variables that the file reads when it is compiled.
  variables ? { },
}:
runCommand "browser-shell-${name}-${arch}"
  (
    {
      nativeBuildInputs = [ toolchain ];
      meta.mainProgram = name;
      # The host's tools would change only programs of their own architecture.
      dontStrip = true;
      dontPatchELF = true;
    }
    // variables
  )
  ''
    mkdir -p "$out/bin"
    rustc --edition 2024 --target ${architectures.${arch}.target} --deny warnings -C linker=rust-lld -C target-feature=+crt-static \
      -C codegen-units=1 -C lto -C opt-level=s -C panic=abort -C strip=symbols --remap-path-prefix ${source}=${name}.rs \
      -o "$out/bin/${name}" ${source}
  ''
