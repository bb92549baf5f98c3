//! From a destination to an open connection: look up once, check every address, dial what was checked.
//!
//! Decides nothing by itself: the policy does, on the addresses found here. Must never look a name up a second time between
//! the check and the connection, and never dial an address that was not in the checked list.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::head::end_of_head;
use crate::decision::{Code, Decision};
use crate::dns::Dns;
use crate::policy::connection::Destination;
use crate::policy::url::Host;
use crate::policy::{Policy, Upstream, Verdict};

/// How long one address has to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a proxy has to answer, and how much it may say until then.
const PROXY_ANSWER: Duration = Duration::from_secs(30);
const PROXY_HEAD: usize = 16 * 1024;

/// An open connection to where the browser wants to go.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) stream: TcpStream,
    /// What a proxy sent after its answer.
    pub(super) early: Vec<u8>,
    pub(super) end: End,
}

/// Who is at the other end, for a plain request.
#[derive(Debug)]
pub(super) enum End {
    /// The host itself, or a tunnel to it.
    Host,
    /// A proxy, and what it wants as `Proxy-Authorization`.
    Proxy(Option<String>),
}

/// The decision, and all addresses that were checked for it; none where an upstream proxy knows a name that we do not.
pub async fn decide(policy: &Policy, dns: &Dns, to: &Destination, own: Option<SocketAddr>) -> (Decision, Vec<IpAddr>) {
    let name = match policy.check_connection(to, own) {
        Verdict::Decided(decision) => {
            let addresses = match &to.host {
                Host::Address(address) => vec![*address],
                // `localhost` and the names below it
                Host::Name(_) => decision.address.into_iter().collect(),
            };
            return (decision, addresses);
        }
        Verdict::Lookup(name) => name,
    };
    match dns.lookup(&name).await {
        Ok(addresses) => (policy.check_connection_addresses(to, &addresses, own), addresses),
        Err(error) if policy.egress.upstream.is_some() => {
            tracing::info!(%error, "lookup; the upstream proxy is asked by name");
            (policy.check_connection_unresolved(to), Vec::new())
        }
        Err(error) => {
            tracing::info!(host = name, %error, "lookup");
            (Decision::from(error).about(name), Vec::new())
        }
    }
}

/// Dials. The decision is what the audit line and the reply say afterwards: the address is the one that was dialled.
pub(super) async fn connect(
    policy: &Policy,
    dns: &Dns,
    to: &Destination,
    own: SocketAddr,
    decision: &mut Decision,
    addresses: &[IpAddr],
) -> Result<Line, Decision> {
    if let Some(upstream) = &policy.egress.upstream {
        return through(upstream, dns, to, own).await.map_err(|refusal| refusal.about(to.host.to_string()));
    }
    for &address in addresses {
        if let Some(stream) = dial(SocketAddr::new(address, to.port)).await {
            decision.address = Some(address);
            return Ok(Line { stream, early: Vec::new(), end: End::Host });
        }
    }
    let mut refusal =
        Decision::new(Code::AddressUnreachable, "no address of the host accepts a connection on this port");
    refusal.address = addresses.first().copied();
    Err(refusal.about(to.host.to_string()))
}

async fn dial(address: SocketAddr) -> Option<TcpStream> {
    match tokio::time::timeout(CONNECT, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => {
            // a tunnel carries other people's small messages; they are not to wait for each other
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

/// A line through the operator's own proxy.
async fn through(upstream: &Upstream, dns: &Dns, to: &Destination, own: SocketAddr) -> Result<Line, Decision> {
    let unavailable = |reason: String| Decision::new(Code::UpstreamUnavailable, reason).at("egress.upstream");
    let addresses = match &upstream.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => {
            dns.lookup(name).await.map_err(|error| unavailable(format!("the proxy's name is not known: {error}")))?
        }
    };
    if addresses.iter().any(|address| crate::policy::connection::is_guard(*address, upstream.port, own)) {
        return Err(Decision::new(Code::GuardItself, "the upstream proxy is the guard itself").at("egress.upstream"));
    }
    let mut stream = None;
    for address in addresses {
        stream = dial(SocketAddr::new(address, upstream.port)).await;
        if stream.is_some() {
            break;
        }
    }
    let mut stream = stream.ok_or_else(|| unavailable("the proxy accepts no connection".to_owned()))?;
    let authorization = match &upstream.credentials_file {
        None => None,
        Some(file) => {
            let place = "egress.upstream_credentials_file";
            let bad =
                |what: String| Decision::new(Code::UpstreamUnavailable, format!("the credentials {what}")).at(place);
            let text = tokio::fs::read_to_string(file)
                .await
                .map_err(|error| bad(format!("cannot be read: {}", error.kind())))?;
            let line = text.trim_end_matches(['\r', '\n']);
            if !line.contains(':') || line.chars().any(char::is_control) {
                return Err(bad("are not one line `user:password`".to_owned()));
            }
            Some(format!("Basic {}", BASE64_STANDARD.encode(line)))
        }
    };
    if to.plain_http {
        return Ok(Line { stream, early: Vec::new(), end: End::Proxy(authorization) });
    }
    let host = match &to.host {
        Host::Address(IpAddr::V6(v6)) => format!("[{v6}]"),
        host => host.to_string(),
    };
    let port = to.port;
    let authorization =
        authorization.map_or_else(String::new, |authorization| format!("Proxy-Authorization: {authorization}\r\n"));
    let head = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{authorization}\r\n");
    let asked = tokio::time::timeout(PROXY_ANSWER, ask(&mut stream, head.as_bytes())).await;
    let (status, early) = asked
        .map_err(|_| unavailable("the proxy does not answer".to_owned()))?
        .map_err(|error| unavailable(format!("the proxy gives no answer: {}", error.kind())))?;
    if status == 200 {
        return Ok(Line { stream, early, end: End::Host });
    }
    Err(unavailable(format!("the proxy answers {status}")))
}

/// Sends a head and reads one: its status, and what came after it.
async fn ask(stream: &mut TcpStream, head: &[u8]) -> std::io::Result<(u16, Vec<u8>)> {
    stream.write_all(head).await?;
    let mut answer = Vec::new();
    loop {
        let before = answer.len();
        if stream.read_buf(&mut answer).await? == 0 || before > PROXY_HEAD {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(end) = end_of_head(&answer, before) {
            let early = answer.split_off(end);
            let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
            let status = line.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
            let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
            return Ok((status.ok_or(std::io::ErrorKind::InvalidData)?, early));
        }
    }
}
