# The base images, one folder each, and the one that the image uses.
#
# base.json pins a base by the digests of its manifests, which in turn contain the digests of layers and configurations.
# Anything with another digest is rejected, and nothing is identified by its tag alone.
# A folder may also contain manifest-ARCH.json and config-ARCH.json (`nix run .#update-base` writes them), so that the
# evaluation does not fetch them. Their digests are checked too.
{
  lib,
  runCommand,
  cacert,
  skopeo,
  nix2container,
}:
let
  current = "1.11.0";

  hexOf = digest: lib.removePrefix "sha256:" digest;

  # The file if it exists, else null. A file with another digest is an error.
  vendored =
    file: digest:
    if !builtins.pathExists file then
      null
    else if builtins.hashFile "sha256" file != hexOf digest then
      throw "`${toString file}` does not have the digest `${digest}`; run `nix run .#update-base`"
    else
      file;

  fetch =
    digest: command:
    runCommand (hexOf digest)
      {
        nativeBuildInputs = [
          cacert
          skopeo
        ];
        impureEnvVars = lib.fetchers.proxyImpureEnvVars;
        outputHash = digest;
        outputHashMode = "flat";
        preferLocalBuild = true;
      }
      ''
        export HOME=$PWD SSL_CERT_FILE=${cacert}/etc/ssl/certs/ca-bundle.crt
        ${command}
      '';

  load =
    folder:
    let
      info = lib.importJSON (folder + "/base.json");
      name = "${info.registry}/${info.repository}";
      manifestOf =
        arch:
        let
          have = vendored (folder + "/manifest-${arch}.json") info.${arch};
        in
        if have != null then
          have
        else
          fetch info.${arch} "skopeo inspect --raw docker://${name}@${info.${arch}} >$out";
      configOf =
        arch:
        let
          inherit ((lib.importJSON (manifestOf arch)).config) digest;
          have = vendored (folder + "/config-${arch}.json") digest;
        in
        lib.importJSON (
          if have != null then
            have
          else
            fetch digest "skopeo inspect --config --raw docker://${name}@${info.${arch}} >$out"
        );
    in
    info
    // {
      inherit name;
      digest = arch: info.${arch};
      # The configuration of a container that is started from the base alone.
      config =
        arch:
        let
          config = configOf arch;
        in
        assert lib.assertMsg (
          config.architecture == arch && config.os == "linux"
        ) "`${info.${arch}}` is for ${config.os}/${config.architecture}, not for linux/${arch}";
        config.config;
      layers =
        arch:
        nix2container.pullImageFromManifest {
          imageName = info.repository;
          imageManifest = manifestOf arch;
          imageTag = info.tag;
          os = "linux";
          inherit arch;
          registryUrl = info.registry;
        };
    };

  all = lib.mapAttrs (tag: _: load (./. + "/${tag}")) (
    lib.filterAttrs (_: kind: kind == "directory") (builtins.readDir ./.)
  );
in
all.${current} // { inherit all; }
