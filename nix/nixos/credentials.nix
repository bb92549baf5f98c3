# Credentials by their names in $CREDENTIALS_DIRECTORY, with their variables and their files.
{ cfg, lib }:
lib.filterAttrs (_: credential: credential.file != null) {
  api-keys = {
    variable = "BROWSER_SHELL_API_KEYS";
    file = cfg.credentials.apiKeysFile;
  };
  jwt-keys = {
    variable = "BROWSER_SHELL_JWT_KEYS";
    file = cfg.credentials.jwtKeysFile;
  };
}
