//! Relations between the files of the image, which need no container.

use std::fs;
use std::path::Path;

fn rootfs(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("rootfs").join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the value of a variable in `image.env`.
fn variable(name: &str) -> Option<String> {
    let text = rootfs("image.env");
    let mut lines = text.lines().filter_map(|line| line.split_once('=').filter(|(key, _)| *key == name));
    let value = lines.next().map(|(_, value)| value.to_owned());
    assert!(lines.next().is_none(), "{name} is set twice");
    value
}

// Requirement 3.2.
#[test]
fn hub_template_is_same_at_both_paths() {
    let template = rootfs("opt/gem/mcp-hub.json.template");
    assert_eq!(template, rootfs("opt/gem/templates/mcp-hub.json.template"));
    let hub: serde_json::Value = serde_json::from_str(&template).unwrap();
    assert_eq!(hub["mcpServers"].as_object().unwrap().keys().collect::<Vec<_>>(), ["browser-shell"]);
}

// Requirement 3.2.
#[test]
fn hub_waits_for_no_port_of_disabled_services() {
    assert_eq!(variable("MCP_HUB_WAIT_PORTS").as_deref(), Some(""));
    assert_eq!(variable("EXTRA_MCP_SERVERS").as_deref(), Some(""), "control");
}

// Requirement 3.3.
#[test]
fn clients_of_display_use_written_cookie_file() {
    let file = variable("XAUTHORITY").unwrap();
    let (folder, name) = file.rsplit_once('/').unwrap();
    let script = rootfs("opt/browser-shell/display");
    assert!(script.contains(&format!("\nfolder={folder}\nauthority=$folder/{name}\n")), "{file}");
}

/// The program gives the Chromium of a standalone image its proxy, which a managed one would replace by that of no session.
// Requirement 8.2.
#[test]
fn standalone_images_manage_all_of_the_egress_but_the_proxy() {
    let file = "etc/chromium/policies/managed/zz-browser-shell-egress.json";
    let standalone = Path::new(env!("CARGO_MANIFEST_DIR")).join("nix/standalone/root").join(file);
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let mut base = parse(&rootfs("etc/browser/policies/managed/zz-browser-shell-egress.json"));
    assert!(base.as_object_mut().unwrap().remove("ProxySettings").is_some(), "control");
    assert_eq!(parse(&fs::read_to_string(standalone).unwrap()), base);
}

/// Neither the port of Chromium nor that of the gate is for other pods.
// Requirement 6.1.
#[test]
fn network_policies_let_pods_in_at_the_public_port_only() {
    for file in ["deploy/kubernetes/one/network-policy.yaml", "deploy/slim/kubernetes/common/network-policy.yaml"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let (_, incoming) = text.split_once("\n  ingress:\n").unwrap();
        let (incoming, outgoing) = incoming.split_once("\n  egress:\n").unwrap();
        let ports = |part: &str| -> Vec<String> {
            part.lines().filter_map(|line| line.trim().strip_prefix("port: ").map(str::to_owned)).collect()
        };
        assert_eq!(ports(incoming), ["8080"], "{file}");
        assert_eq!(ports(outgoing).first().map(String::as_str), Some("53"), "control: {file}");
    }
}
