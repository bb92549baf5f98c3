{
  services.browser-shell = {
    enable = true;
    # The tool at http://127.0.0.1:8080/mcp, the screen at /vnc/. Another address needs credentials.
    listen = "127.0.0.1:8080";
    policy.open.allow_host_suffixes = [ ".example.com" ];
    # credentials.apiKeysFile = "/var/lib/secrets/api-keys.txt";
  };

  # Replace these lines by those of your machine (nixos-generate-config).
  boot.loader.grub.device = "/dev/sda";
  fileSystems."/" = {
    device = "/dev/disk/by-label/nixos";
    fsType = "ext4";
  };
  system.stateVersion = "26.05";
}
