# nix run .#verify -- REFERENCE [OWNER/REPOSITORY [TAG]] [--digests FOLDER] [--chromium-days DAYS]: verifies a released image as its
# deployer: signature, provenance, bills of materials, the agreement of two builders, and the age of Chromium. It prints a table with
# the command behind each row. release.yml verifies an image with it before it gets its tag.
{
  writeShellApplication,
  coreutils,
  cosign,
  curl,
  diffutils,
  gnused,
  jq,
  skopeo,
}:
writeShellApplication {
  name = "verify";
  runtimeInputs = [
    coreutils
    cosign
    curl
    diffutils
    gnused
    jq
    skopeo
  ];
  # The commands of the table are strings.
  excludeShellChecks = [ "SC2016" ];
  text = builtins.readFile ./verify;
  meta.description = "Verifies a released image, and prints a table";
}
