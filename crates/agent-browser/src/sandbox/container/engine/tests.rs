use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

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
