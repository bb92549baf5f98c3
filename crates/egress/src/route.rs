//! Route from a destination to an open connection: one lookup, one check of every address, one dial, directly or through the
//! operator's upstream proxy.
//!
//! Invariants: a name is resolved once, and only addresses that the policy checked are dialed. The policy makes the decision.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::head::find_head_end;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::connection::{Destination, is_guard};
use browser_shell_core::policy::url::Host;
use browser_shell_core::policy::{Evaluation, Policy, Upstream};
use browser_shell_system::os::describe;
use browser_shell_system::os::dns::Dns;

/// Timeout for one address to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of addresses of a host that are tried.
const MAX_DIALED: usize = 8;

/// Timeout for the proxy's response to `CONNECT`.
const PROXY_RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of a proxy's response head, in bytes.
const MAX_PROXY_HEAD: usize = 16 * 1024;

/// Open connection toward a destination.
#[derive(Debug)]
pub(super) struct Outbound {
    pub(super) stream: TcpStream,
    /// Bytes that an upstream proxy sent behind its response.
    pub(super) received: Vec<u8>,
    pub(super) peer: DialedPeer,
}

/// Other end of an outgoing connection, as far as a plain request must know it.
#[derive(Debug)]
pub(super) enum DialedPeer {
    /// The host itself, directly or through a tunnel.
    Host,
    /// An upstream proxy, with the value of `Proxy-Authorization` that it requires.
    Proxy(Option<String>),
}

/// Connects to an address. Returns `None` if it does not accept the connection in time.
async fn dial(address: SocketAddr) -> Option<TcpStream> {
    match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => {
            // Small messages inside a tunnel must not wait to be sent together.
            let _ = stream.set_nodelay(true);
            Some(stream)
        }
        Ok(Err(error)) => {
            tracing::debug!(%address, %error, "connect");
            None
        }
        Err(_) => None,
    }
}

/// Returns the decision on a connection, and all addresses that were checked for it. `guard` is the guard's own address.
///
/// There are no addresses if only an upstream proxy can resolve the name.
pub async fn decide(
    policy: &Policy,
    dns: &Dns,
    destination: &Destination,
    guard: Option<SocketAddr>,
) -> (Decision, Vec<IpAddr>) {
    let name = match policy.check_connection(destination, guard) {
        Evaluation::Decided(decision) => {
            let addresses = match &destination.host {
                Host::Address(address) => vec![*address],
                // `localhost` and names below it have an address without a lookup.
                Host::Name(_) => decision.address.into_iter().collect(),
            };
            return (decision, addresses);
        }
        Evaluation::Lookup(name) => name,
    };
    match dns.lookup(&name).await {
        Ok(addresses) => (policy.check_connection_addresses(destination, &addresses, guard), addresses),
        Err(error) if policy.egress.upstream.is_some() => {
            tracing::info!(%error, "lookup failed; the upstream proxy gets the name");
            (policy.check_connection_unresolved(destination), Vec::new())
        }
        Err(error) => {
            tracing::info!(host = name, %error, "lookup failed");
            (Decision::from(error).about(name), Vec::new())
        }
    }
}

/// Returns true if a policy allows a connection that is open, to an address that was checked before. An upstream proxy has no address.
pub(super) fn is_allowed_still(
    policy: &Policy,
    destination: &Destination,
    address: Option<IpAddr>,
    guard: SocketAddr,
) -> bool {
    let decision = match policy.check_connection(destination, Some(guard)) {
        Evaluation::Decided(decision) => decision,
        Evaluation::Lookup(_) => match address {
            Some(address) => policy.check_connection_addresses(destination, &[address], Some(guard)),
            None => policy.check_connection_unresolved(destination),
        },
    };
    decision.is_allowed()
}

/// Connects to the first of `addresses` that accepts, or through the upstream proxy, and sets the decision's address to the one
/// that was dialed.
///
/// # Errors
///
/// The refusal for the client.
pub(super) async fn connect(
    policy: &Policy,
    dns: &Dns,
    destination: &Destination,
    guard: SocketAddr,
    decision: &mut Decision,
    addresses: &[IpAddr],
) -> Result<Outbound, Decision> {
    if let Some(upstream) = &policy.egress.upstream {
        return connect_through_proxy(upstream, dns, destination, guard)
            .await
            .map_err(|refusal| refusal.about(destination.host.to_string()));
    }
    for &address in addresses.iter().take(MAX_DIALED) {
        if let Some(stream) = dial(SocketAddr::new(address, destination.port)).await {
            decision.address = Some(address);
            return Ok(Outbound { stream, received: Vec::new(), peer: DialedPeer::Host });
        }
    }
    let mut refusal =
        Decision::new(Code::AddressUnreachable, "no address of the host accepts a connection on this port");
    refusal.address = addresses.first().copied();
    Err(refusal.about(destination.host.to_string()))
}

/// Connects to the destination through the proxy: with `CONNECT`, or for a plain http request to the proxy itself. `guard` is
/// the guard's own address.
///
/// # Errors
///
/// The refusal for the client.
async fn connect_through_proxy(
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
