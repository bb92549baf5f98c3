//! Route from a destination to an open connection: one lookup, one check of every address, one dial.
//!
//! Invariants: a name is resolved once, and only addresses that the policy checked are dialed. The policy makes the decision.

use std::net::{IpAddr, SocketAddr};

use crate::dial::{DialedPeer, Outbound, dial};
use crate::upstream;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::connection::Destination;
use browser_shell_core::policy::url::Host;
use browser_shell_core::policy::{Evaluation, Policy};
use browser_shell_system::os::dns::Dns;

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
        return upstream::connect(upstream, dns, destination, guard)
            .await
            .map_err(|refusal| refusal.about(destination.host.to_string()));
    }
    for &address in addresses {
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
