//! Handling of one client connection, from its first byte to its audit line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::Utc;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::forward::{self, tunnel};
use crate::head::{self, ProxyRequest, ReceivedHead, RequestHead, read_head};
use crate::limits::{Meter, MeteredStream, OpenConnections};
use crate::response::GuardResponse;
use crate::route::{self, Outbound};
use crate::status::StatusReport;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::connection::Destination;
use browser_shell_core::policy::{EgressLimits, Policy};
use browser_shell_core::session_id::SessionId;
use browser_shell_system::audit::{AuditLog, ConnectionRecord};
use browser_shell_system::metrics::Metrics;
use browser_shell_system::os::dns::Dns;
use browser_shell_system::paths::SessionAddresses;
use browser_shell_system::policy_source::{PolicySource, SeenPolicy};

/// Timeout for a client to send the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Time for a policy file that is being written to be whole.
const WRITE_TIME: Duration = Duration::from_secs(1);

/// Time for a host to be looked up and to accept a connection, directly or through an upstream proxy.
const CONNECT_LIMIT: Duration = Duration::from_secs(45);

/// Interval between two looks at whose address a connection came from.
const SESSION_INTERVAL: Duration = Duration::from_secs(5);

/// State shared by all connections of a running guard.
#[derive(Debug)]
pub(super) struct EgressGuard {
    policy: PolicySource,
    dns: Dns,
    audit: AuditLog,
    metrics: Arc<Metrics>,
    address: SocketAddr,
    /// Folder that names the sessions of the session addresses.
    sessions: Option<PathBuf>,
    open: OpenConnections,
    allowed: AtomicU64,
    refused: AtomicU64,
    stop: CancellationToken,
}

/// Result of a connection that was about another host.
struct ConnectionEnd {
    decision: Decision,
    port: Option<u16>,
    bytes: (u64, u64),
    end: &'static str,
    policy: Option<String>,
}

impl ConnectionEnd {
    const fn refused(decision: Decision, port: Option<u16>, policy: Option<String>) -> Self {
        Self { decision, port, bytes: (0, 0), end: "refused", policy }
    }
}

impl EgressGuard {
    pub(super) fn new(
        policy: PolicySource,
        audit: AuditLog,
        metrics: Arc<Metrics>,
        address: SocketAddr,
        sessions: Option<PathBuf>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            policy,
            dns: Dns::default(),
            audit,
            metrics,
            address,
            sessions,
            open: OpenConnections::default(),
            allowed: AtomicU64::default(),
            refused: AtomicU64::default(),
            stop,
        }
    }

    /// Returns the policy file.
    pub(super) const fn policy(&self) -> &PolicySource {
        &self.policy
    }

    /// Serves one client connection and writes its audit line. `session_address` is the address that the client connected to, if
    /// it is one of a session.
    pub(super) async fn serve_client(&self, mut stream: TcpStream, session_address: Option<IpAddr>) {
        let started = Instant::now();
        let _ = stream.set_nodelay(true);
        let (hash, policy) = self.policy.in_force();
        let limits = policy.map_or_else(|_| EgressLimits::default(), |policy| policy.egress.limits);
        let (session, admitted) = match session_address.map(|address| self.session_of(address)).transpose() {
            Ok(session) => {
                let admitted = self.open.admit(session.clone(), limits.max_connections);
                (session, admitted)
            }
            Err(refusal) => (None, Err(refusal)),
        };
        let outcome = match admitted {
            Ok(_open) => self.handle_connection(&mut stream, session_address, session.as_ref(), limits).await,
            Err(refusal) => Some(refuse(&mut stream, refusal, false, None, hash).await),
        };
        let Some(outcome) = outcome else { return };
        let counter = if outcome.decision.is_allowed() { &self.allowed } else { &self.refused };
        counter.fetch_add(1, Ordering::Relaxed);
        self.metrics.count_connection(outcome.decision.code, outcome.bytes);
        self.audit.write_connection(&ConnectionRecord {
            time: Utc::now(),
            session,
            decision: outcome.decision,
            port: outcome.port,
            bytes: outcome.bytes,
            end: outcome.end,
            policy: outcome.policy,
            elapsed: started.elapsed(),
        });
    }

    /// Returns the session that has the address now.
    ///
    /// # Errors
    ///
    /// The refusal for the client.
    fn session_of(&self, address: IpAddr) -> Result<SessionId, Decision> {
        match &self.sessions {
            Some(folder) => SessionAddresses::session_of(folder, address),
            None => Err(Decision::new(Code::SessionUnknown, "the guard has no folder of sessions")),
        }
    }

    /// Reads the request and carries it out or refuses it. Returns `None` if it was not about another host.
    async fn handle_connection(
        &self,
        stream: &mut TcpStream,
        session_address: Option<IpAddr>,
        session: Option<&SessionId>,
        limits: EgressLimits,
    ) -> Option<ConnectionEnd> {
        let received = match self.receive_head(stream, limits).await {
            Ok(received) => received?,
            Err(decision) => return Some(refuse(stream, decision, false, None, None).await),
        };
        let changes = self.policy.changes();
        // Read the policy again: it may have changed while the client sent the head.
        let (hash, policy) = self.policy.in_force();
        let RequestHead { request, wants_html } = match head::parse(&received.head) {
            Ok(parsed) => parsed,
            Err(reason) => {
                let decision = Decision::new(Code::ProxyRequestInvalid, reason);
                return Some(refuse(stream, decision, false, None, hash).await);
            }
        };
        let destination = match &request {
            ProxyRequest::Tunnel(destination) => destination.clone(),
            ProxyRequest::Forward(page) => {
                Destination { host: page.host.clone(), port: page.port, is_plain_http: true }
            }
            ProxyRequest::Status => {
                self.status(hash.as_ref(), policy.as_deref().ok()).to_response().send(stream).await;
                return None;
            }
        };
        let port = Some(destination.port);
        let policy = match &policy {
            Ok(policy) => policy.for_session(session),
            Err(error) => {
                let decision = Decision::from(error.clone()).about(destination.host.to_string());
                return Some(refuse(stream, decision, wants_html, port, hash).await);
            }
        };
        let connected = match timeout(CONNECT_LIMIT, self.connect(&policy, &destination)).await {
            // The policy may have changed while the host was dialed.
            Ok(Ok((decision, outbound))) => match self.refusal_since(&changes, session, &destination, decision.address)
            {
                None => Ok((decision, outbound)),
                Some(refusal) => Err(refusal),
            },
            Ok(Err(refusal)) => Err(refusal),
            Err(_) => {
                let reason = "no address of the host accepted a connection in time";
                Err(Decision::new(Code::AddressUnreachable, reason).about(destination.host.to_string()))
            }
        };
        let (decision, outbound) = match connected {
            Ok(connected) => connected,
            Err(refusal) => return Some(refuse(stream, refusal, wants_html, port, hash).await),
        };
        let meter = Meter::new(policy.egress.limits);
        let remote = MeteredStream::new(outbound.stream, meter.clone());
        let transfer = async {
            match request {
                ProxyRequest::Forward(page) => {
                    let bytes = [received.head, received.rest].concat();
                    forward::forward(&mut *stream, bytes, remote, page, outbound.peer, limits.max_header_bytes).await
                }
                _ => tunnel(stream, remote, &received.rest, &outbound.received).await,
            }
        };
        let end = tokio::select! {
            end = transfer => end,
            end = meter.wait_for_limit() => end,
            () = self.wait_for_refusal(changes, session, &destination, decision.address) => "policy-changed",
            () = self.wait_for_end_of(session_address, session) => "session-ended",
            () = self.stop.cancelled() => "stopped",
        };
        // The transfer may see the byte limit as an I/O error before the meter reports it.
        let end = if meter.is_full() { "too-many-bytes" } else { end };
        Some(ConnectionEnd { decision, port, bytes: meter.bytes(), end, policy: hash })
    }

    /// Reads the head of the request. Returns `None` if the client sent nothing or the guard is stopping.
    ///
    /// # Errors
    ///
    /// The refusal for the client.
    async fn receive_head(
        &self,
        stream: &mut TcpStream,
        limits: EgressLimits,
    ) -> Result<Option<ReceivedHead>, Decision> {
        let limit = HEAD_TIMEOUT.min(Duration::from_secs(limits.idle_sec));
        let received = tokio::select! {
            received = timeout(limit, read_head(stream, limits.max_header_bytes)) => received,
            () = self.stop.cancelled() => return Ok(None),
        };
        match received {
            Ok(Ok(received)) => Ok(received),
            Ok(Err(reason)) => Err(Decision::new(Code::ProxyRequestInvalid, reason)),
            Err(_) => Err(Decision::new(Code::TimedOut, "the head of the request did not arrive in time")),
        }
    }

    /// Waits until the policy no longer allows a connection that is open.
    async fn wait_for_refusal(
        &self,
        mut changes: watch::Receiver<SeenPolicy>,
        session: Option<&SessionId>,
        destination: &Destination,
        address: Option<IpAddr>,
    ) {
        let is_allowed = || {
            let policy = self.policy.current_for(session);
            policy.is_ok_and(|policy| route::is_allowed_still(&policy, destination, address, self.address))
        };
        while changes.changed().await.is_ok() {
            if !is_allowed() {
                // A file that is being written is whole a moment later.
                tokio::time::sleep(WRITE_TIME).await;
                if !is_allowed() {
                    return;
                }
            }
        }
        std::future::pending::<()>().await;
    }

    /// Returns the refusal of a connection that has just been made, if the policy changed since it was decided and no longer allows it.
    fn refusal_since(
        &self,
        changes: &watch::Receiver<SeenPolicy>,
        session: Option<&SessionId>,
        destination: &Destination,
        address: Option<IpAddr>,
    ) -> Option<Decision> {
        if !changes.has_changed().unwrap_or(true) {
            return None;
        }
        let policy = match self.policy.current_for(session) {
            Ok(policy) => policy,
            Err(error) => return Some(Decision::from(error).about(destination.host.to_string())),
        };
        let is_allowed = route::is_allowed_still(&policy, destination, address, self.address);
        let reason = "the policy changed while the host was dialed; try again";
        (!is_allowed).then(|| Decision::new(Code::Busy, reason).about(destination.host.to_string()))
    }

    /// Waits until the address that the client connected to is no longer that of its session.
    async fn wait_for_end_of(&self, address: Option<IpAddr>, session: Option<&SessionId>) {
        let (Some(address), Some(session)) = (address, session) else { return std::future::pending().await };
        loop {
            tokio::time::sleep(SESSION_INTERVAL).await;
            if self.session_of(address).ok().as_ref() != Some(session) {
                return;
            }
        }
    }

    /// Connects to the destination, if the policy allows it.
    ///
    /// # Errors
    ///
    /// The refusal for the client.
    async fn connect(&self, policy: &Policy, destination: &Destination) -> Result<(Decision, Outbound), Decision> {
        let (mut decision, addresses) = route::decide(policy, &self.dns, destination, Some(self.address)).await;
        if !decision.is_allowed() {
            return Err(decision);
        }
        let outbound = route::connect(policy, &self.dns, destination, self.address, &mut decision, &addresses).await?;
        Ok((decision, outbound))
    }

    fn status(&self, policy_hash: Option<&String>, policy: Option<&Policy>) -> StatusReport {
        StatusReport {
            mode: policy.map(|policy| policy.egress.mode),
            has_upstream: policy.is_some_and(|policy| policy.egress.upstream.is_some()),
            policy_hash: policy_hash.cloned(),
            open: self.open.count(),
            allowed: self.allowed.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

/// Sends the refusal to the client.
async fn refuse(
    stream: &mut TcpStream,
    decision: Decision,
    wants_html: bool,
    port: Option<u16>,
    policy: Option<String>,
) -> ConnectionEnd {
    GuardResponse::from_decision(&decision, wants_html).send(stream).await;
    ConnectionEnd::refused(decision, port, policy)
}
