//! Name resolution as the browser does it, and the decision on a URL with the lookup of its name.
//!
//! A name in the hosts file has the addresses listed there; any other name has all its A and AAAA records.
//!
//! Invariants: a lookup returns all addresses or an error, never a part of them. If either DNS query fails, so does the lookup.
//!
//! Requirement 2.5.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::{Query, ResponseCode};
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::{Hosts, TokioResolver, system_conf};
use thiserror::Error;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::url::{PageUrl, parse};
use browser_shell_core::policy::{Evaluation, Policy};

/// Time limit of a lookup, both queries together.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Error of a lookup.
#[derive(Debug, Error)]
pub enum LookupError {
    /// The name does not exist or has no address.
    #[error("the name has no address")]
    NoAddress,
    /// No answer arrived in time.
    #[error("no answer within {} seconds", TIMEOUT.as_secs())]
    TimedOut,
    /// The text is not a domain name.
    #[error("not a domain name: {0}")]
    Name(String),
    /// The resolver's settings cannot be read.
    #[error("cannot read the resolver's settings: {0}")]
    Settings(String),
    /// A DNS server refused or failed.
    #[error("the lookup failed: {0}")]
    Failed(String),
}

impl From<LookupError> for Decision {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::NoAddress => Self::new(Code::NameNotResolved, "the name has no address"),
            LookupError::TimedOut => Self::new(Code::NameLookupFailed, error.to_string()),
            // The resolver's message can repeat the name, so it goes to the log only.
            LookupError::Name(_) | LookupError::Settings(_) | LookupError::Failed(_) => {
                Self::new(Code::NameLookupFailed, "the lookup of the name failed")
            }
        }
    }
}

/// A resolver that follows changes of `resolv.conf` and `hosts` without a restart.
#[derive(Debug)]
pub struct Dns {
    resolv_conf: PathBuf,
    hosts: PathBuf,
    cached: Mutex<Option<(Vec<u8>, Arc<TokioResolver>)>>,
}

impl Default for Dns {
    fn default() -> Self {
        Self::with_files("/etc/resolv.conf".into(), "/etc/hosts".into())
    }
}

impl Dns {
    /// Creates a resolver that reads these files instead of the system's.
    #[must_use]
    pub fn with_files(resolv_conf: PathBuf, hosts: PathBuf) -> Self {
        Self { resolv_conf, hosts, cached: Mutex::new(None) }
    }

    /// Returns all addresses of a name.
    ///
    /// # Errors
    ///
    /// If the name has no address, or the list may be incomplete.
    pub async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, LookupError> {
        let name = Name::from_utf8(name).map_err(|error| LookupError::Name(error.to_string()))?;
        let addresses = match self.hosts_addresses(&name)? {
            found if !found.is_empty() => found,
            _ => tokio::time::timeout(TIMEOUT, self.dns_addresses(name)).await.map_err(|_| LookupError::TimedOut)??,
        };
        if addresses.is_empty() { Err(LookupError::NoAddress) } else { Ok(addresses) }
    }

    /// Returns the addresses in the hosts file. If there is one of either family, browsers do not ask DNS.
    fn hosts_addresses(&self, name: &Name) -> Result<Vec<IpAddr>, LookupError> {
        let mut hosts = Hosts::default();
        match std::fs::File::open(&self.hosts) {
            Ok(file) => hosts.read_hosts_conf(file).map_err(|error| LookupError::Settings(error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(LookupError::Settings(error.to_string())),
        }
        let addresses = [RecordType::A, RecordType::AAAA]
            .into_iter()
            .filter_map(|record_type| hosts.lookup_static_host(&Query::query(name.clone(), record_type)));
        Ok(addresses
            .flat_map(|lookup| lookup.answers().iter().filter_map(|record| record.data.ip_addr()).collect::<Vec<_>>())
            .collect())
    }

    async fn dns_addresses(&self, name: Name) -> Result<Vec<IpAddr>, LookupError> {
        let resolver = self.resolver()?;
        let query = |record_type| {
            let (resolver, name) = (resolver.clone(), name.clone());
            async move {
                match resolver.lookup(name, record_type).await {
                    Ok(lookup) => {
                        Ok(lookup.answers().iter().filter_map(|record| record.data.ip_addr()).collect::<Vec<_>>())
                    }
                    Err(error) if is_empty_answer(&error) => Ok(Vec::new()),
                    Err(error) => Err(LookupError::Failed(error.to_string())),
                }
            }
        };
        let (mut v4, v6) = futures::try_join!(query(RecordType::A), query(RecordType::AAAA))?;
        v4.extend(v6);
        Ok(v4)
    }

    /// Returns the resolver for the current settings.
    fn resolver(&self) -> Result<Arc<TokioResolver>, LookupError> {
        let settings = |error: &dyn std::fmt::Display| LookupError::Settings(error.to_string());
        let text = std::fs::read(&self.resolv_conf).map_err(|error| settings(&error))?;
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, resolver)) = cached.as_ref().filter(|(old, _)| *old == text) {
            return Ok(resolver.clone());
        }
        let (config, mut options) = system_conf::parse_resolv_conf(&text).map_err(|error| settings(&error))?;
        options.use_hosts_file = hickory_resolver::config::ResolveHosts::Never;
        let mut builder =
            TokioResolver::builder_with_config(config, hickory_resolver::net::runtime::TokioRuntimeProvider::default());
        *builder.options_mut() = options;
        let resolver = Arc::new(builder.build().map_err(|error| settings(&error))?);
        *cached = Some((text, resolver.clone()));
        Ok(resolver)
    }
}

/// Returns true if the error means that there are no records. hickory reports a failed server as the same kind of error.
fn is_empty_answer(error: &NetError) -> bool {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => {
            matches!(none.response_code, ResponseCode::NoError | ResponseCode::NXDomain)
        }
        _ => false,
    }
}

/// Returns the decision on a URL as an agent would write it.
pub async fn decide_url(policy: &Policy, dns: &Dns, url: &str) -> Decision {
    match parse(url) {
        Ok(target) => decide_target(policy, dns, &target).await,
        Err(decision) => decision,
    }
}

/// Returns the decision on a target, after a name lookup if the policy needs one.
pub async fn decide_target(policy: &Policy, dns: &Dns, target: &PageUrl) -> Decision {
    let name = match policy.check(target) {
        Evaluation::Decided(decision) => return decision,
        Evaluation::Lookup(name) => name,
    };
    match (dns.lookup(&name).await, target) {
        (Ok(addresses), PageUrl::Web(page)) => policy.check_addresses(page, &addresses),
        (Ok(_), PageUrl::Blank) => Decision::new(Code::UrlMalformed, "the URL has no host"),
        (Err(error), _) => {
            tracing::info!(host = name, %error, "name lookup failed");
            Decision::from(error).about(name)
        }
    }
}
