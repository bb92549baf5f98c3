# The image's agent-browser, in two flavors.
#
# `node` is the version whose daemon runs in Node. `native` is the newest release, one binary without Node. Versions and
# hashes come from the tests' lock file, so the image contains what the tests run, and no registry address is repeated
# here. npm fetches each package, and the hash of the lock file verifies it.
# Files of dist/ stay unchanged (see ./assemble), and no package runs an install script.
{
  lib,
  runCommand,
  bash,
  cacert,
  gnutar,
  gzip,
  nodejs,
  patchelf,
  architectures,
}:
let
  lock = (lib.importJSON ../../tests/e2e/package-lock.json).packages;
  # Node's resolution order from agent-browser: its own node_modules first, then the shared folder.
  locked =
    name:
    let
      entry = lock."node_modules/agent-browser/node_modules/${name}" or lock."node_modules/${name}";
    in
    {
      inherit name;
      inherit (entry) version integrity license;
    };

  # The package's tarball from npm, verified by the lock file's hash.
  tarball =
    {
      name,
      version,
      integrity,
      ...
    }:
    runCommand "${name}-${version}.tgz"
      {
        nativeBuildInputs = [ nodejs ];
        impureEnvVars = lib.fetchers.proxyImpureEnvVars;
        outputHash = integrity;
        outputHashMode = "flat";
        preferLocalBuild = true;
      }
      ''
        export HOME=$PWD NODE_EXTRA_CA_CERTS=${cacert}/etc/ssl/certs/ca-bundle.crt
        export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
        npm pack --silent --ignore-scripts ${lib.escapeShellArg "${name}@${version}"} >/dev/null
        mv -- *.tgz "$out"
      '';

  unpacked =
    package:
    runCommand "${package.name}-${package.version}"
      {
        nativeBuildInputs = [
          gnutar
          gzip
        ];
      }
      ''
        mkdir "$out"
        tar --extract --gzip --file ${tarball package} --directory "$out" --strip-components 1 --no-same-owner
      '';

  parts = map locked [
    "playwright-core"
    "ws"
    "zod"
  ];

  node =
    let
      package = locked "agent-browser";
      tree =
        arch:
        runCommand "agent-browser-${package.version}-${arch}"
          {
            nativeBuildInputs = [ bash ];
            outputs = [
              "out"
              "modules"
            ];
            # The base has no /nix/store.
            allowedReferences = [ ];
          }
          ''
            bash ${./assemble} ${architectures.${arch}.npm} ${./stubs} made \
              ${lib.escapeShellArgs (map unpacked ([ package ] ++ parts))}
            mv made/package "$out"
            mv made/node_modules "$modules"
          '';
    in
    {
      inherit (package) version integrity license;
      inherit parts;
      tarballs = map tarball ([ package ] ++ parts);
      package = arch: (tree arch).out;
      # Identical for both architectures.
      modules = (tree "amd64").modules;
    };

  native =
    let
      package = {
        name = "agent-browser";
        # The tests install both versions, so the lock file has this one under an alias.
        inherit (lock."node_modules/agent-browser-native") version integrity license;
      };
    in
    {
      inherit (package) version integrity license;
      parts = [ ];
      tarballs = [ (tarball package) ];
      package =
        arch:
        runCommand "agent-browser-native-${package.version}-${arch}" { allowedReferences = [ ]; } ''
          from=${unpacked package}
          install -D -m 755 "$from/bin/agent-browser-linux-${architectures.${arch}.npm}" "$out/bin/agent-browser"
          install -D -m 644 -t "$out" "$from/LICENSE" "$from/package.json"
        '';
      modules = null;
      # Statically linked, for the runtime's image and the overlay.
      static =
        arch:
        runCommand "agent-browser-static-${package.version}-${arch}"
          {
            nativeBuildInputs = [ patchelf ];
            allowedReferences = [ ];
          }
          ''
            from=${unpacked package}
            program=$from/bin/agent-browser-linux-musl-${architectures.${arch}.npm}
            if patchelf --print-interpreter "$program" 2>/dev/null; then
              echo "$program is not static" >&2
              exit 1
            fi
            install -D -m 755 "$program" "$out/bin/agent-browser"
            install -D -m 644 -t "$out" "$from/LICENSE" "$from/package.json"
          '';
    };
in
{
  inherit node native;
}
