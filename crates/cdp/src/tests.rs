use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;

/// Returns a browser whose port answers every connection with the same bytes.
fn serve(answer: &'static str) -> DebuggedBrowser {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(3) {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", answer.len());
            stream.write_all(format!("{head}{answer}").as_bytes()).unwrap();
        }
    });
    DebuggedBrowser::new(port)
}

#[tokio::test]
async fn unreachable_and_non_browser_endpoints_are_errors() {
    let closed = DebuggedBrowser::new(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
    assert!(matches!(closed.version().await, Err(BrowserError::Connect { .. })));
    assert!(matches!(serve("<html>").version().await, Err(BrowserError::NotABrowser { .. })));
    assert_eq!(serve(r#"{"Browser":"Chrome/1"}"#).version().await.unwrap(), "Chrome/1");
}
