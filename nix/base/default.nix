# The base images, a folder for each, and which of them the image is built on.
#
# A base is its digests, in base.json: the manifest of an architecture is the text with that digest, its layers and its
# configuration are the blobs with the digests in the manifest, and whatever does not have its digest is not accepted.
# A folder may hold manifest-ARCH.json and config-ARCH.json too (`nix run .#update-base` writes them). They save the
# evaluation from fetching them first, and are held to the same digests.
# Must never take anything by its tag alone: a tag is only what the registry is asked with.
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

  # a file of the folder, if its content has the digest; null if there is none
  vendored =
    file: digest:
    if !builtins.pathExists file then
      null
    else if builtins.hashFile "sha256" file != hexOf digest then
      throw "`${toString file}` is not `${digest}`: nix run .#update-base"
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
      # what a container gets that is started from the base alone
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
