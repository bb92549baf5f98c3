//! The egress guard: the one way of the browser to any other host (spec [5.1]).
//!
//! A forward proxy on loopback. Each connection carries one request; it is read whole and strictly (`head.rs`), its host is
//! looked up once and every address checked (`route.rs`, with the policy's decision), and what was checked is dialled. It
//! decides who is let in: everybody on this machine, nobody from elsewhere. Must never forward anything while the policy
//! file is wrong, and never lead to itself.

mod forward;
pub mod head;
mod meter;
mod reply;
pub mod route;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use chrono::Utc;
use hyper::StatusCode;
use serde_json::json;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::head::{Asked, Head};
use self::meter::{Meter, Metered};
use self::reply::Reply;
use crate::audit::{AuditLog, Connection};
use crate::decision::{Code, Decision};
use crate::dns::Dns;
use crate::policy::connection::Destination;
use crate::policy::{EgressLimits, EgressMode, Policy};
use crate::policy_source::PolicySource;

/// Where the guard listens, and where the image's Chromium looks for it.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8119";

/// How the guard calls itself in its status.
pub const SERVICE: &str = "browser-shell egress";

/// How long a client has for the head of its request, at most.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// How long a client that is refused has to read why, and how much of what it still sends is thrown away meanwhile.
const LAST_WORDS: Duration = Duration::from_secs(2);
const LEFT_OVERS: usize = 256 * 1024;

/// How long connections have to write their audit lines when the guard ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why the guard does not start.
#[derive(Debug, Error)]
pub enum EgressError {
    /// The address can be reached from other machines.
    #[error(
        "`{0}` can be reached from other machines, and the guard asks nobody who they are; listen on {DEFAULT_ADDRESS}"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`: {source}; choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}

/// The running guard.
#[derive(Debug)]
pub struct Guard {
    policy: PolicySource,
    dns: Dns,
    audit: AuditLog,
    own: SocketAddr,
    open: AtomicUsize,
    allowed: AtomicU64,
    refused: AtomicU64,
    stop: CancellationToken,
}

/// What became of a connection.
struct Outcome {
    decision: Decision,
    port: Option<u16>,
    bytes: (u64, u64),
    end: &'static str,
    policy: Option<String>,
}

impl Outcome {
    fn refused(decision: Decision, port: Option<u16>, policy: Option<String>) -> Self {
        Self { decision, port, bytes: (0, 0), end: "refused", policy }
    }
}

/// One of the open connections, counted until it is dropped.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves until `stop` is cancelled.
///
/// # Errors
///
/// See [`EgressError`].
pub async fn serve(
    address: SocketAddr,
    policy: PolicySource,
    audit: AuditLog,
    stop: CancellationToken,
) -> Result<(), EgressError> {
    serve_on(bind(address).await?, policy, audit, stop).await
}

/// Listens, so that nobody else does from here on.
///
/// # Errors
///
/// See [`EgressError`].
pub async fn bind(address: SocketAddr) -> Result<TcpListener, EgressError> {
    if !address.ip().is_loopback() {
        return Err(EgressError::NotLoopback(address));
    }
    TcpListener::bind(address).await.map_err(|source| EgressError::Listen { address, source })
}

/// Serves on a listener of [`bind`] until `stop` is cancelled.
///
/// # Errors
///
/// See [`EgressError`].
pub async fn serve_on(
    listener: TcpListener,
    policy: PolicySource,
    audit: AuditLog,
    stop: CancellationToken,
) -> Result<(), EgressError> {
    let unspecified = SocketAddr::from(([0, 0, 0, 0], 0));
    let own = listener.local_addr().map_err(|source| EgressError::Listen { address: unspecified, source })?;
    tracing::info!(address = %own, "listening");
    let zero = AtomicU64::default;
    let (open, stop_all) = (AtomicUsize::default(), stop.clone());
    let guard = Arc::new(Guard {
        policy,
        dns: Dns::default(),
        audit,
        own,
        open,
        allowed: zero(),
        refused: zero(),
        stop: stop_all,
    });
    let mut mode = None;
    guard.tell_mode(&mut mode);
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                guard.tell_mode(&mut mode);
                let guard = guard.clone();
                tasks.spawn(async move { guard.handle(stream).await });
            }
            Err(error) => {
                // Too many open files, say: others must end first.
                tracing::error!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    tasks.close();
    let _ = timeout(FAREWELL, tasks.wait()).await;
    Ok(())
}

impl Guard {
    /// Says so in the log when the guard is off, or the policy file is wrong, each time that changes.
    fn tell_mode(&self, last: &mut Option<Result<EgressMode, Code>>) {
        let now = self.policy.current().map(|policy| policy.egress.mode).map_err(|error| {
            let text = error.to_string();
            (Decision::from(error).code, text)
        });
        let brief = now.as_ref().map(|mode| *mode).map_err(|(code, _)| *code);
        if *last == Some(brief) {
            return;
        }
        *last = Some(brief);
        match now {
            Ok(EgressMode::Off) => {
                tracing::warn!("egress.mode is `off`: pages reach every address but this machine's own");
            }
            Ok(mode) => tracing::info!(mode = mode.as_str(), "guarding"),
            Err((_, error)) => tracing::error!(error, "every connection is refused until the policy file is corrected"),
        }
    }

    async fn handle(&self, mut stream: TcpStream) {
        let began = Instant::now();
        let open = self.open.fetch_add(1, Ordering::Relaxed);
        let _place = Place(&self.open);
        let _ = stream.set_nodelay(true);
        let (hash, policy) = self.policy.in_force();
        let limits = policy.map_or_else(|_| EgressLimits::default(), |policy| policy.egress.limits);
        let outcome = if open >= limits.max_connections {
            let decision =
                Decision::new(Code::Busy, "as many connections are open as may be").at("egress.limits.max_connections");
            self.refuse(&mut stream, &decision, false).await;
            Some(Outcome::refused(decision, None, hash))
        } else {
            self.converse(&mut stream, limits).await
        };
        let Some(outcome) = outcome else { return };
        let counter = if outcome.decision.is_allowed() { &self.allowed } else { &self.refused };
        counter.fetch_add(1, Ordering::Relaxed);
        self.audit.write_connection(&Connection {
            time: Utc::now(),
            decision: outcome.decision,
            port: outcome.port,
            bytes: outcome.bytes,
            end: outcome.end,
            policy: outcome.policy,
            elapsed: began.elapsed(),
        });
    }

    /// One connection from its first byte to its last; `None` if it was not about any other host.
    async fn converse(&self, stream: &mut TcpStream, limits: EgressLimits) -> Option<Outcome> {
        let patience = HEAD_PATIENCE.min(Duration::from_secs(limits.idle_sec));
        let read = tokio::select! {
            read = timeout(patience, read_head(stream, limits.max_header_bytes)) => read,
            () = self.stop.cancelled() => return None,
        };
        let (head, rest) = match read {
            Ok(Ok(Some(read))) => read,
            // a browser opens connections ahead, and may not need them
            Ok(Ok(None)) => return None,
            Ok(Err(reason)) => {
                let decision = Decision::new(Code::ProxyRequestInvalid, reason);
                self.refuse(stream, &decision, false).await;
                return Some(Outcome::refused(decision, None, None));
            }
            Err(_) => {
                let decision = Decision::new(Code::TimedOut, "the head of the request did not arrive in time");
                self.refuse(stream, &decision, false).await;
                return Some(Outcome::refused(decision, None, None));
            }
        };
        // The policy as it is now: the connection may have waited.
        let (hash, policy) = self.policy.in_force();
        let parsed = match head::parse(&head) {
            Ok(Head { asked: Asked::Status, .. }) => {
                self.answer(stream, &self.status(hash.as_ref(), policy.as_deref().ok())).await;
                return None;
            }
            Ok(parsed) => parsed,
            Err(reason) => {
                let decision = Decision::new(Code::ProxyRequestInvalid, reason);
                self.refuse(stream, &decision, false).await;
                return Some(Outcome::refused(decision, None, hash));
            }
        };
        let to = match &parsed.asked {
            Asked::Tunnel(to) => to.clone(),
            Asked::Forward(page) => Destination { host: page.host.clone(), port: page.port, plain_http: true },
            Asked::Status => return None,
        };
        let policy = match policy {
            Ok(policy) => policy,
            Err(error) => {
                let decision = Decision::from(error).about(to.host.to_string());
                self.refuse(stream, &decision, parsed.wants_html).await;
                return Some(Outcome::refused(decision, Some(to.port), hash));
            }
        };
        let (mut decision, addresses) = route::decide(&policy, &self.dns, &to, Some(self.own)).await;
        let line = if decision.is_allowed() {
            route::connect(&policy, &self.dns, &to, self.own, &mut decision, &addresses).await
        } else {
            Err(decision.clone())
        };
        let line = match line {
            Ok(line) => line,
            Err(refusal) => {
                self.refuse(stream, &refusal, parsed.wants_html).await;
                return Some(Outcome::refused(refusal, Some(to.port), hash));
            }
        };
        let meter = Meter::new(policy.egress.limits);
        let far = Metered::new(line.stream, meter.clone());
        let carried = async {
            match parsed.asked {
                Asked::Forward(page) => {
                    let bytes = [head, rest].concat();
                    forward::forward(&mut *stream, bytes, far, page, line.end, limits.max_header_bytes).await
                }
                _ => tunnel(stream, far, &rest, &line.early).await,
            }
        };
        let end = tokio::select! {
            end = carried => end,
            why = meter.exceeded() => why,
            () = self.stop.cancelled() => "stopped",
        };
        // whoever notices first
        let end = if meter.is_full() { "too-many-bytes" } else { end };
        Some(Outcome { decision, port: Some(to.port), bytes: meter.bytes(), end, policy: hash })
    }

    fn status(&self, hash: Option<&String>, policy: Option<&Policy>) -> Reply {
        let value = json!({
            "service": SERVICE,
            "version": env!("CARGO_PKG_VERSION"),
            "mode": policy.map(|policy| policy.egress.mode.as_str()),
            "upstream": policy.is_some_and(|policy| policy.egress.upstream.is_some()),
            "policy": hash,
            "open": self.open.load(Ordering::Relaxed),
            "allowed": self.allowed.load(Ordering::Relaxed),
            "refused": self.refused.load(Ordering::Relaxed),
        });
        Reply::json(StatusCode::OK, &value)
    }

    async fn refuse(&self, stream: &mut TcpStream, decision: &Decision, wants_html: bool) {
        self.answer(stream, &Reply::decision(decision, wants_html)).await;
    }

    /// Says it, and waits a moment until it is read: closing at once with unread bytes would take the answer back.
    async fn answer(&self, stream: &mut TcpStream, reply: &Reply) {
        let said = async {
            stream.write_all(&reply.to_bytes()).await?;
            stream.shutdown().await?;
            let mut left = [0; 4096];
            let mut count = 0;
            while count < LEFT_OVERS {
                match stream.read(&mut left).await? {
                    0 => break,
                    more => count += more,
                }
            }
            Ok::<_, std::io::Error>(())
        };
        // A client that is gone needs no answer.
        let _ = timeout(LAST_WORDS, said).await;
    }
}

/// The head of a request and what came with it; `None` if nothing came.
async fn read_head(stream: &mut TcpStream, most: usize) -> Result<Option<(Vec<u8>, Vec<u8>)>, &'static str> {
    let mut bytes = Vec::with_capacity(2048);
    loop {
        let before = bytes.len();
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) if before == 0 => return Ok(None),
            Ok(0) | Err(_) => return Err("the connection ended in the head of the request"),
            Ok(_) => {}
        }
        if !head::begins_well(&bytes) {
            return Err("that is not HTTP");
        }
        match head::end_of_head(&bytes, before) {
            Some(end) if end <= most => {
                let rest = bytes.split_off(end);
                return Ok(Some((bytes, rest)));
            }
            None if bytes.len() <= most => {}
            _ => return Err("the head of the request is larger than it may be"),
        }
    }
}

/// Carries bytes both ways until both ends have said all.
async fn tunnel(client: &mut TcpStream, mut far: Metered, first: &[u8], early: &[u8]) -> &'static str {
    let carried = async {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        client.write_all(early).await?;
        far.write_all(first).await?;
        tokio::io::copy_bidirectional(client, &mut far).await
    };
    match carried.await {
        Ok(_) => "closed",
        Err(_) => "error",
    }
}

/// What a guard says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// No guard answers.
    Absent,
    /// Its policy file is wrong, so that it refuses everything.
    Closed,
    /// It guards, in this mode.
    Mode(String),
}

/// Asks a guard how it does.
pub async fn ask_status(address: SocketAddr) -> Status {
    let asked = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.write_all(format!("GET /status HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.take(64 * 1024).read_to_string(&mut answer).await.ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        let status: serde_json::Value = serde_json::from_str(body).ok()?;
        let ours = status.get("service")?.as_str()? == SERVICE;
        let mode = status.get("mode").and_then(serde_json::Value::as_str);
        ours.then(|| mode.map_or(Status::Closed, |mode| Status::Mode(mode.to_owned())))
    };
    timeout(LAST_WORDS, asked).await.ok().flatten().unwrap_or(Status::Absent)
}
