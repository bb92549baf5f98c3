use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use browser_shell_core::policy::file::parse;
use browser_shell_core::policy::sandbox::ResourceLimits;

fn host() -> SandboxHost {
    SandboxHost::with(6, "/etc/passwd")
}

fn policy(socket: &Path) -> SandboxPolicy {
    let text = format!(
        r#"{{"sandbox":{{"backend":"docker","backends":{{"docker":{{"image":"some/image:1","socket":"{}"}}}}}}}}"#,
        socket.display()
    );
    parse(&text).expect("valid").sandbox
}

// Requirement 5.2.
#[test]
fn container_request_has_only_plan_without_network_or_rights() {
    let root = tempfile::tempdir().expect("a folder");
    let below = |name: &str| {
        let path = root.path().canonicalize().expect("there").join(name);
        fs::create_dir_all(&path).expect("made");
        path
    };
    let plan = Plan {
        read: vec![below("read"), below("read/below"), "/proc/meminfo".into(), "/etc/hosts".into(), "/nowhere".into()],
        write: vec![below("write"), "/nowhere/else".into()],
        sockets: vec![below("sockets")],
        masked: vec![below("read/hidden")],
        read_only: vec![below("write/fixed")],
        connect: vec![9222],
        limits: Some(ResourceLimits::default()),
        ..Plan::default()
    };
    let paths = SessionPaths {
        key: "s".to_owned(),
        sockets: below("sockets"),
        private: below("private"),
        files: below("files"),
    };
    let request = create_request(&host(), &policy(Path::new("/e")), &plan, &paths, (1000, 100)).expect("JSON");
    let text = serde_json::to_string_pretty(&request).expect("JSON");
    insta::assert_snapshot!(text.replace(root.path().canonicalize().expect("there").to_str().expect("text"), "ROOT"));
}

#[tokio::test]
async fn missing_engine_or_image_is_reported() {
    let root = tempfile::tempdir().expect("a folder");
    let socket = root.path().join("e");
    let (host, policy, plan) = (host(), policy(&socket), Plan::default());
    assert!(probe(&host, &policy, &plan).await.expect_err("refused").to_string().starts_with("no engine at `"));
    let listener = tokio::net::UnixListener::bind(&socket).expect("bound");
    for (answer, message) in [
        ("HTTP/1.1 404 Not Found\r\n\r\n", Some("has no image `some/image:1`")),
        ("SSH-2.0-x\r\n", Some("does not answer as a container engine")),
        ("HTTP/1.1 500 Oh\r\n\r\n{}", Some("does not answer as a container engine")),
        ("", Some("does not answer as a container engine")),
        ("HTTP/1.1 200 OK\r\n\r\n{}", None),
    ] {
        let stand_in = async {
            let (mut stream, _) = listener.accept().await.expect("asked");
            let mut head = [0; 512];
            let count = stream.read(&mut head).await.expect("read");
            assert!(head[..count].starts_with(b"GET /images/some/image:1/json HTTP/1.1\r\n"));
            stream.write_all(answer.as_bytes()).await.expect("answered");
        };
        let (found, ()) = tokio::join!(probe(&host, &policy, &plan), stand_in);
        let error = found.err().map(|error| error.to_string());
        assert_eq!(
            error.as_ref().map(|error| error.contains(message.unwrap_or("?"))),
            message.map(|_| true),
            "{answer}: {error:?}"
        );
    }
}

/// Checks the requests and their order, against a stand-in for an engine.
#[tokio::test]
async fn container_is_created_started_awaited_and_removed() {
    for stopped in [false, true] {
        let root = tempfile::tempdir().expect("a folder");
        let socket = root.path().join("e");
        let listener = tokio::net::UnixListener::bind(&socket).expect("bound");
        let stop = CancellationToken::new();
        let (heard, mut lines) = tokio::sync::mpsc::unbounded_channel();
        let stand_in = tokio::spawn({
            let stop = stop.clone();
            async move {
                let mut open = Vec::new();
                while let Ok((mut stream, _)) = listener.accept().await {
                    let mut request = vec![0; 4096];
                    let count = stream.read(&mut request).await.expect("read");
                    let text = String::from_utf8_lossy(&request[..count]).into_owned();
                    let line = text.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
                    let body = match line.as_str() {
                        "GET /info" => r#"{"SecurityOptions":[]}"#,
                        "POST /containers/create" => r#"{"Id":"abc"}"#,
                        "POST /containers/abc/wait" if stopped => {
                            stop.cancel();
                            open.push(stream);
                            heard.send(line).expect("heard");
                            continue;
                        }
                        "POST /containers/abc/wait" => r#"{"StatusCode":7}"#,
                        _ => "{}",
                    };
                    heard.send(line).expect("heard");
                    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                    stream.write_all(answer.as_bytes()).await.expect("answered");
                }
            }
        });
        let result = run_container(&socket, &json!({ "HostConfig": {} }), &stop).await;
        assert_eq!(result.is_ok(), stopped, "{result:?}");
        stand_in.abort();
        let mut all = Vec::new();
        while let Ok(line) = lines.try_recv() {
            all.push(line);
        }
        let expected = [
            "GET /info",
            "POST /containers/create",
            "POST /containers/abc/start",
            "POST /containers/abc/wait",
            "DELETE /containers/abc?force=true&v=true",
        ];
        assert_eq!(all, expected);
    }
}
