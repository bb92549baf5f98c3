//! nginx with the configuration of `docs/connect.md`, in front of a server.

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::super::{
    docs::{blocks, page},
    e2e::test_env,
    harness::{processes::wait_for, server::free_port},
};
use super::server::{DRIVE_KEY, Server, stand_in_settings};

/// Name of the server in the configuration.
const NAME: &str = "browser.example";

/// A running nginx.
struct Nginx {
    child: Child,
    port: u16,
}

impl Nginx {
    /// Starts nginx in front of a port, with a certificate of its own.
    fn start(folder: &Path, upstream: u16) -> Self {
        let [key, certificate, conf] = ["proxy.key", "proxy.pem", "proxy.conf"].map(|name| folder.join(name));
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
        openssl.args(["-subj", &format!("/CN={NAME}"), "-keyout"]).arg(&key).arg("-out").arg(&certificate);
        let made = openssl.output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let port = free_port();
        let page = page("docs/connect.md");
        let (_, block) = blocks(&page).into_iter().find(|(info, _)| info == "nginx").expect("the configuration");
        let block = block
            .replace("listen 443 ssl", &format!("listen 127.0.0.1:{port} ssl"))
            .replace("http://127.0.0.1:8080", &format!("http://127.0.0.1:{upstream}"))
            .replace("/etc/ssl/browser.example.pem", certificate.to_str().unwrap())
            .replace("/etc/ssl/browser.example.key", key.to_str().unwrap());
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {}/nginx-{kind};\n", folder.display()));
        let start = format!("daemon off;\npid {}/nginx.pid;\nerror_log stderr;\nevents {{}}\n", folder.display());
        fs::write(&conf, format!("{start}http {{\naccess_log off;\n{}{block}}}\n", temporary.concat())).unwrap();
        let mut nginx = Command::new("nginx");
        let child = nginx.arg("-c").arg(&conf).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let nginx = Self { child, port };
        wait_for("nginx", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        nginx
    }

    /// Returns a command that sends a request to a path at the name of the server.
    fn curl(&self, path: &str, more: &[&str]) -> Command {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--insecure", "--no-buffer", "--http1.1", "--include"]);
        curl.args(["--resolve", &format!("{NAME}:{}:127.0.0.1", self.port)]).args(more);
        curl.arg(format!("https://{NAME}:{}{path}", self.port));
        curl
    }

    /// Returns the head and the body of an answer.
    fn ask(&self, path: &str, more: &[&str]) -> String {
        String::from_utf8_lossy(&self.curl(path, more).output().unwrap().stdout).into_owned()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It ends its workers.
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// Returns the body of a call of the tool, whose progress is reported if it has a token.
fn call(argv: &[&str], token: Option<&str>) -> String {
    let mut call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "browser-shell", "arguments": {"session_id": "s", "argv": argv}}});
    if let Some(token) = token {
        call["params"]["_meta"] = json!({"progressToken": token});
    }
    call.to_string()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn nginx_of_the_page_passes_calls_and_streams_on() {
    test_env::require_test_network();
    let env = stand_in_settings();
    let folder = Path::new(env.folder()).to_owned();
    // What makes a folder noVNC's.
    fs::create_dir_all(folder.join("novnc/core")).unwrap();
    env.write_file("novnc/core/rfb.js", "");
    env.write_file("novnc/vnc.html", "<html><head></head></html>");
    let env = env
        .with_policy(&json!({
            "engine": "agent-browser", "browser": {"isolation": "shared"}, "sandbox": {"enabled": false},
        }))
        .with("BROWSER_SHELL_SCREEN", "cast")
        .with("BROWSER_SHELL_NOVNC", folder.join("novnc"))
        .with("BROWSER_SHELL_TRUSTED_PROXY", "127.0.0.1")
        .with("BROWSER_SHELL_PUBLIC_URL", format!("https://{NAME}"));
    let server = Server::start_with_keys(env);
    let nginx = Nginx::start(&folder, server.port);
    let key = format!("X-AIO-API-Key: {DRIVE_KEY}");
    let json = ["-H", "Content-Type: application/json", "-H", "Accept: application/json, text/event-stream", "-d"];
    let ask = |more: &[&str], body: &str| nginx.ask("/mcp", &[more, &json[..], &[body]].concat());

    let click = call(&["click", "@e1"], None);
    assert!(ask(&[], &click).starts_with("HTTP/1.1 401 "), "no credential");
    let answer = ask(&["-H", &key], &click);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let reply: Value = serde_json::from_str(body).unwrap();
    assert_eq!(reply["result"]["structuredContent"]["exit_code"], 0, "{answer}");
    let own = format!("Origin: https://{NAME}:{}", nginx.port);
    assert!(ask(&["-H", &key, "-H", &own], &click).starts_with("HTTP/1.1 200 "), "a page of the server");
    let other = ask(&["-H", &key, "-H", "Origin: https://other.example"], &click);
    assert!(other.starts_with("HTTP/1.1 403 "), "{other}");

    // The first report comes while the call runs.
    let body = call(&["click", "#fake-sleep-4000"], Some("t"));
    let mut stream = nginx.curl("/mcp", &[&["-H", key.as_str()], &json[..], &[body.as_str()]].concat());
    let mut stream = stream.stdout(Stdio::piped()).spawn().unwrap();
    let (mut output, mut text, mut part) = (stream.stdout.take().unwrap(), String::new(), [0; 4096]);
    while !text.contains("notifications/progress") {
        let length = output.read(&mut part).unwrap();
        assert_ne!(length, 0, "no report: {text}");
        text += std::str::from_utf8(&part[..length]).unwrap();
    }
    assert!(!text.contains("structuredContent"), "the answer came before: {text}");
    output.read_to_string(&mut text).unwrap();
    assert!(stream.wait().unwrap().success() && text.contains("structuredContent"), "{text}");

    let ticket = server.ticket(DRIVE_KEY);
    let upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
    let headers = upgrade.into_iter().chain(["Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="]);
    let headers: Vec<_> = headers.flat_map(|header| ["-H", header]).chain(["--max-time", "2"]).collect();
    let screen = nginx.ask(&format!("/websockify?ticket={ticket}"), &headers);
    assert!(screen.starts_with("HTTP/1.1 101 "), "{screen}");
}
