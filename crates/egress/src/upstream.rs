//! Connections through the operator's upstream proxy.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::dial::{DialedPeer, Outbound, dial};
use crate::head::find_head_end;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::Upstream;
use browser_shell_core::policy::connection::{Destination, is_guard};
use browser_shell_core::policy::url::Host;
use browser_shell_system::os::dns::Dns;
use browser_shell_system::os::io_error::describe;

/// Timeout for the proxy's response to `CONNECT`.
const PROXY_RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of a proxy's response head, in bytes.
const MAX_PROXY_HEAD: usize = 16 * 1024;

/// Connects to the destination through the proxy: with `CONNECT`, or for a plain http request to the proxy itself. `guard` is
/// the guard's own address.
///
/// # Errors
///
/// The refusal for the client.
pub(super) async fn connect(
    upstream: &Upstream,
    dns: &Dns,
    destination: &Destination,
    guard: SocketAddr,
) -> Result<Outbound, Decision> {
    let mut stream = dial_proxy(upstream, dns, guard).await?;
    let authorization = match &upstream.credentials_file {
        Some(file) => Some(read_authorization(file).await?),
        None => None,
    };
    if destination.is_plain_http {
        return Ok(Outbound { stream, received: Vec::new(), peer: DialedPeer::Proxy(authorization) });
    }
    let head = connect_request(destination, authorization.as_deref());
    let response = tokio::time::timeout(PROXY_RESPONSE_TIMEOUT, exchange_heads(&mut stream, head.as_bytes())).await;
    let (status, received) = response
        .map_err(|_| unavailable("the proxy does not answer"))?
        .map_err(|error| unavailable(format!("the proxy sends no valid answer: {}", describe(&error))))?;
    if status == 200 {
        return Ok(Outbound { stream, received, peer: DialedPeer::Host });
    }
    Err(unavailable(format!("the proxy answers with status {status}")))
}

fn unavailable(reason: impl Into<String>) -> Decision {
    Decision::new(Code::UpstreamUnavailable, reason.into()).at("egress.upstream")
}

async fn dial_proxy(upstream: &Upstream, dns: &Dns, guard: SocketAddr) -> Result<TcpStream, Decision> {
    let addresses = match &upstream.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => {
            let failed = |error| unavailable(format!("the proxy's name cannot be resolved: {error}"));
            dns.lookup(name).await.map_err(failed)?
        }
    };
    if addresses.iter().any(|address| is_guard(*address, upstream.port, guard)) {
        return Err(Decision::new(Code::GuardItself, "the upstream proxy is the guard itself").at("egress.upstream"));
    }
    for address in addresses {
        if let Some(stream) = dial(SocketAddr::new(address, upstream.port)).await {
            return Ok(stream);
        }
    }
    Err(unavailable("the proxy does not accept connections"))
}

/// Returns the value of `Proxy-Authorization` for the credentials in a file.
async fn read_authorization(file: &Path) -> Result<String, Decision> {
    let invalid = |problem: String| {
        Decision::new(Code::UpstreamUnavailable, format!("the credentials {problem}"))
            .at("egress.upstream_credentials_file")
    };
    let text = tokio::fs::read_to_string(file)
        .await
        .map_err(|error| invalid(format!("cannot be read: {}", describe(&error))))?;
    let line = text.trim_end_matches(['\r', '\n']);
    if !line.contains(':') || line.chars().any(char::is_control) {
        return Err(invalid("are not one line `user:password`".to_owned()));
    }
    Ok(format!("Basic {}", BASE64_STANDARD.encode(line)))
}

fn connect_request(destination: &Destination, authorization: Option<&str>) -> String {
    let host = match &destination.host {
        Host::Address(IpAddr::V6(v6)) => format!("[{v6}]"),
        host => host.to_string(),
    };
    let port = destination.port;
    let authorization =
        authorization.map_or_else(String::new, |authorization| format!("Proxy-Authorization: {authorization}\r\n"));
    format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{authorization}\r\n")
}

/// Sends a request head and reads a response head. Returns its status and the bytes that arrived behind it.
async fn exchange_heads(stream: &mut TcpStream, head: &[u8]) -> std::io::Result<(u16, Vec<u8>)> {
    stream.write_all(head).await?;
    let mut response = Vec::new();
    loop {
        let before = response.len();
        if stream.read_buf(&mut response).await? == 0 || before > MAX_PROXY_HEAD {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(end) = find_head_end(&response, before) {
            let rest = response.split_off(end);
            let line = response.split(|byte| *byte == b'\r').next().unwrap_or_default();
            let status = line.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
            let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
            return Ok((status.ok_or(std::io::ErrorKind::InvalidData)?, rest));
        }
    }
}
