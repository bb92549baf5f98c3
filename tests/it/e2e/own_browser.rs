//! `browser-shell mcp --browser`: a server over stdio that starts a Chromium of its own.

use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::{
    hosts::SHOP,
    processes::wait_for,
    server::{Server, TestEnv},
    test_env,
};

/// Creates the environment of servers that share a runtime folder, on a machine without agent-browser.
fn env() -> TestEnv {
    test_env::hosts();
    test_env::env_with(test_env::no_agent_browser())
        .with("BROWSER_SHELL_BROWSER", "true")
        .without("BROWSER_SHELL_WORKSPACE")
        .with_policy(&json!({"subcommands": {"enable": ["get"]}}))
}

fn open(server: &Server, page: &str) {
    server.call("s", &["open", &format!("http://{SHOP}/hello?{page}")]).ok();
}

#[track_caller]
fn shows(server: &Server, page: &str) {
    let address = server.call("s", &["get", "url"]).ok().stdout;
    assert!(address.contains(&format!("/hello?{page}")), "{address}");
    let picture = server.call("s", &["screenshot"]).ok();
    assert!(picture.picture.is_some(), "{picture:?}");
}

/// Returns the numbers of the folders that servers have for themselves.
fn folders(env: &TestEnv) -> Vec<String> {
    let entries = std::fs::read_dir(format!("{}/run/i", env.folder())).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<_> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn servers_with_own_browsers_run_beside_each_other() {
    let env = env();
    let first = env.shared().serve();
    let mut second = env.shared().serve();
    open(&first, "first");
    open(&second, "second");
    shows(&first, "first");
    shows(&second, "second");
    assert_eq!(folders(&env), ["1", "2"]);

    // Its client closes its input. This fails if one of its processes stays.
    drop(first);
    assert_eq!(folders(&env), ["2"], "its profile must go with it");
    shows(&second, "second");

    // Nothing can be done by a server that is killed; its Chromium must end all the same.
    second.kill();
    let third = env.shared().serve();
    assert_eq!(folders(&env), ["1"]);
    open(&third, "third");
    shows(&third, "third");
}

// Requirement 7.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn own_browser_comes_with_recommended_policy_without_a_file() {
    let text = env().without("BROWSER_SHELL_POLICY").serve().begin("s", &["dialog", "status"], None).text();
    assert!(!text.contains("not-enabled"), "{text}");
    assert_eq!(env().serve().call("s", &["dialog", "status"]).code, 77, "control: a file that does not enable it");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn redirect_to_another_program_ends_no_browser() {
    let server = env().serve();
    let open = |session: &str, path: &str| server.call(session, &["open", &format!("http://{SHOP}/{path}")]).ok();
    open("other", "hello?kept");
    open("s", "gate/programs");
    // One that only Chromium takes for a URL, too.
    for selector in ["#framed", "#unread", "#sent", "#blank"] {
        let mut shown = server.call("s", &["click", selector]).ok().stderr;
        wait_for(selector, || {
            if !shown.contains("was not followed") {
                shown.push_str(&server.call("s", &["get", "url"]).ok().stderr);
            }
            shown.contains("was not followed").then_some(())
        });
    }
    let address = server.call("other", &["get", "url"]).ok().stdout;
    assert!(address.contains("/hello?kept"), "{address}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn tab_for_another_program_is_closed_and_told() {
    let server = env().with_policy(&json!({"subcommands": {"enable": ["get", "tab"]}})).serve();
    server.call("s", &["open", &format!("http://{SHOP}/gate/programs")]).ok();
    let tabs = || server.call("s", &["tab"]).ok().data()["tabs"].as_array().unwrap().len();
    // More than a session may have, if they stayed.
    for round in 0..10 {
        for (selector, scheme) in [("#mail-tab", "mailto"), ("#meet-tab", "meet+app")] {
            let told = format!("a link to another program (`{scheme}:`) was not followed");
            let mut shown = server.call("s", &["click", selector]).ok().stderr;
            wait_for(selector, || {
                if !shown.contains(&told) {
                    shown.push_str(&server.call("s", &["get", "url"]).ok().stderr);
                }
                shown.contains(&told).then_some(())
            });
            assert!(!shown.contains("more tabs"), "{round}: {shown}");
        }
    }
    assert_eq!(tabs(), 1);
    // Control: a tab that shows nothing yet stays, and there is room for it.
    let opened = server.call("s", &["click", "#empty-tab"]).ok();
    assert!(!opened.stderr.contains("more tabs"), "{opened:?}");
    wait_for("control: the empty tab", || (tabs() == 2).then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn request_that_asks_for_a_login_takes_no_input() {
    let server = env().serve();
    let call = |argv: &[&str]| server.call_within(30, "s", argv);
    call(&["open", &format!("http://{SHOP}/gate/asked")]).ok();
    let text = |selector: &str| call(&["get", "text", selector]).ok().data()["text"].as_str().unwrap().to_owned();
    for (number, selector, ended) in [(1, "#fetch", "fetch 401"), (2, "#image", "image failed")] {
        call(&["click", selector]).ok();
        wait_for(ended, || (text("#log") == ended).then_some(()));
        call(&["click", "#count"]).ok();
        assert_eq!(text("#counted"), format!("counted {number}"), "{selector}");
    }
    // A page that asks is not shown as one that was opened; control: one that does not ask.
    let asked = call(&["open", &format!("http://{SHOP}/login-wall?Basic")]).fails_with(1);
    assert!(asked.stderr.starts_with("login-required: "), "{asked:?}");
    assert_eq!(call(&["open", &format!("http://{SHOP}/login-wall")]).ok().data()["status"], 401);
    open(&server, "after");
    shows(&server, "after");
}

/// Server of pages over TLS, with a certificate of its own.
struct Untrusted(Child);

impl Untrusted {
    /// Starts it at port 443 of every address of the test network.
    fn start(folder: &str) -> Self {
        let [key, certificate] = ["tls.key", "tls.pem"].map(|name| format!("{folder}/{name}"));
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
        openssl.args(["-subj", "/CN=another.example", "-keyout", &key, "-out", &certificate]);
        let made = openssl.output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let mut server = Command::new("openssl");
        server.args(["s_server", "-accept", "443", "-key", &key, "-cert", &certificate, "-www", "-quiet"]);
        let server = Self(server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        wait_for("the server", || {
            let mut curl = Command::new("curl");
            let page = curl.args(["--silent", "--insecure", &format!("https://{SHOP}/")]).output().unwrap();
            // Control: the page is there for those who do not check the certificate.
            String::from_utf8_lossy(&page.stdout).contains("Ciphers").then_some(())
        });
        server
    }
}

impl Drop for Untrusted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_of_an_invalid_certificate_stays_closed() {
    let env = env();
    let _untrusted = Untrusted::start(env.folder());
    let server = env.serve();
    let call = |argv: &[&str]| server.call_within(30, "s", argv);
    let opened = call(&["open", &format!("https://{SHOP}/")]).fails_with(1);
    assert!(opened.stderr.contains("ERR_CERT_AUTHORITY_INVALID"), "{opened:?}");
    call(&["click", "text=Advanced"]).ok();
    // Control: it shows its details.
    call(&["click", "text=Hide advanced"]).ok();
    call(&["click", "text=Advanced"]).ok();
    let proceeded = call(&["click", "text=Proceed"]);
    assert!(proceeded.stderr.starts_with("element-not-found: "), "{proceeded:?}");
    // The keys by which people go on to such a site.
    for key in "thisisunsafe".chars() {
        call(&["press", &key.to_string()]).ok();
    }
    let shown = call(&["snapshot"]).ok().stdout;
    assert!(shown.contains("Your connection is not private"), "{shown}");
    let again = call(&["open", &format!("https://{SHOP}/again")]).fails_with(1);
    assert!(again.stderr.contains("ERR_CERT_AUTHORITY_INVALID"), "{again:?}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn flooding_tab_takes_the_browser_from_nobody() {
    for way in ["hash", "frames"] {
        let server = env().serve();
        open(&server, "first");
        let browser = server.call("s", &["get", "title"]).ok();
        server.call_within(60, "flood", &["open", &format!("http://{SHOP}/gate/flood?{way}")]);
        // Nothing is lost but its page.
        let flooded = wait_for("the end of the flood", || {
            let reply = server.call_within(10, "flood", &["get", "title"]);
            let is_told =
                ["tab-flooded: ", "tab-crashed: ", "page-lost: "].iter().any(|code| reply.stderr.starts_with(code));
            is_told.then_some(reply)
        });
        assert!(flooded.stderr.starts_with("tab-flooded: "), "{way}: {flooded:?}");
        // The others have their page: with another Chromium, this would be 69.
        let kept = wait_for("the other session", || {
            let reply = server.call_within(30, "s", &["get", "title"]);
            (reply.code != 75 && reply.code != 124).then_some(reply)
        });
        assert_eq!((kept.code, &kept.stdout), (0, &browser.stdout), "{way}: {kept:?}");
        shows(&server, "first");
        server.call_within(60, "flood", &["open", &format!("http://{SHOP}/hello?second")]).ok();
    }
}
