//! Public and private IP addresses.
//!
//! Requirement 2.4. An address is public if the most specific row of IANA's special-purpose registries that contains it says
//! so or, where no row contains it, if it is plain unicast: not multicast, no address of a cloud's host and, for IPv6, inside `2000::/3`.
//! The CSV files in `data/` are unchanged copies of what IANA publishes; `data/README.md` names their date and how to update them.
//!
//! Invariants:
//! - An address that embeds an IPv4 address is public only if that one is public too.
//! - Without readable registries no address is public.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use thiserror::Error;

/// The reason why an address is not public.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum NotPublic {
    /// A registry row contains the address and does not call it globally reachable.
    #[error("{0} is not globally reachable")]
    SpecialPurpose(Block),
    /// Multicast: 224.0.0.0/4 (RFC 5771) or `ff00::/8` (RFC 4291).
    #[error("multicast addresses are not hosts")]
    Multicast,
    /// The endpoint of the host in a cloud, which every machine there reaches.
    #[error("Azure's virtual machines reach their host at it")]
    CloudHost,
    /// IPv6 outside `2000::/3`, the only space that is allocated as global unicast (RFC 4291 section 2.4).
    #[error("only 2000::/3 is global unicast (RFC 4291)")]
    NotGlobalUnicast,
    /// The address embeds an IPv4 address that is not public.
    #[error("the IPv4 address inside it is not public: {0}")]
    Embeds(Box<NotPublic>),
    /// The registry data of this build cannot be read; tests rule this out.
    #[error("the address registries of this build cannot be read")]
    RegistryUnreadable,
}

/// Checks that an address, and each IPv4 address that it embeds, is public or exempt.
///
/// # Errors
///
/// The rule that makes an address not public.
pub(super) fn check_public(address: IpAddr, is_exempt: impl Fn(IpAddr) -> bool + Copy) -> Result<(), NotPublic> {
    if !is_exempt(address) {
        check_outer(address)?;
    }
    if let IpAddr::V6(v6) = address {
        for inner in embedded(v6) {
            check_public(IpAddr::V4(inner), is_exempt).map_err(|reason| NotPublic::Embeds(Box::new(reason)))?;
        }
    }
    Ok(())
}

/// Checks an address without the addresses that it embeds.
fn check_outer(address: IpAddr) -> Result<(), NotPublic> {
    if address == AZURE_HOST {
        return Err(NotPublic::CloudHost);
    }
    let blocks = special_blocks().ok_or(NotPublic::RegistryUnreadable)?;
    let row = blocks.iter().filter(|block| block.net.contains(&address)).max_by_key(|block| block.net.prefix_len());
    match row {
        Some(block) if block.is_globally_reachable => Ok(()),
        Some(block) => Err(NotPublic::SpecialPurpose(block.clone())),
        None if address.is_multicast() => Err(NotPublic::Multicast),
        None => match address {
            IpAddr::V4(_) => Ok(()),
            IpAddr::V6(v6) if GLOBAL_UNICAST.contains(&v6) => Ok(()),
            IpAddr::V6(_) => Err(NotPublic::NotGlobalUnicast),
        },
    }
}

/// Endpoint of the host of Azure's virtual machines: a public address, which leads to configuration and certificates of the machine.
/// Source: <https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16>.
const AZURE_HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16));

const GLOBAL_UNICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Returns the IPv4 addresses that an IPv6 address embeds: a gateway or a tunnel may deliver to them.
fn embedded(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        // `::` and `::1` have rows of their own.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        // IPv4-mapped (RFC 4291), IPv4-compatible (deprecated there), NAT64 (RFC 6052); 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            vec![join(high, low)]
        }
        // Teredo (RFC 4380): the server unchanged, the client with all bits inverted.
        [0x2001, 0, server_high, server_low, _, _, client_high, client_low] => {
            vec![join(server_high, server_low), join(!client_high, !client_low)]
        }
        _ => Vec::new(),
    }
}

/// Returns all addresses that may mean the same host: the address, those that it embeds, and the IPv4-mapped forms of these.
pub(super) fn equivalents(address: IpAddr) -> Vec<IpAddr> {
    let v4 = match address {
        IpAddr::V4(v4) => vec![v4],
        IpAddr::V6(v6) => embedded(v6),
    };
    let mut all = vec![address];
    for inner in v4 {
        all.extend([IpAddr::V4(inner), IpAddr::V6(inner.to_ipv6_mapped())]);
    }
    all
}

/// Returns the position of the first block that contains an address.
pub(crate) fn position_of_block(blocks: &[IpNet], address: IpAddr) -> Option<usize> {
    blocks.iter().position(|net| net.contains(&address))
}

/// The reason why a text is not an address block.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum CidrError {
    /// Neither an address nor a block.
    #[error("`{0}` is not an address block; write it as `10.0.0.0/8`")]
    Syntax(String),
    /// Host bits that are set, with the block without them.
    #[error("`{0}` has bits set after its prefix; write `{1}`")]
    HostBits(String, IpNet),
    /// Number of an IPv4 address with a leading zero, which is octal in a host.
    #[error("`{0}` has a number with a leading zero, which many programs read as octal; write it without the zero")]
    LeadingZero(String),
}

/// Parses an address or a CIDR block.
///
/// # Errors
///
/// Host bits that are set are an error too, because they are most likely a typing error. So are forms that mean another block than they seem
/// to.
pub(crate) fn parse_cidr(text: &str) -> Result<IpNet, CidrError> {
    let net = match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(v4)) => IpNet::V4(Ipv4Net::from(v4)),
        Ok(IpAddr::V6(v6)) => IpNet::V6(Ipv6Net::from(v6)),
        Err(_) => text.parse().map_err(|_| CidrError::Syntax(text.to_owned()))?,
    };
    if has_leading_zero(text) {
        return Err(CidrError::LeadingZero(text.to_owned()));
    }
    if net.trunc() == net { Ok(net) } else { Err(CidrError::HostBits(text.to_owned(), net.trunc())) }
}

/// Returns true if a number of the IPv4 address in a block has a leading zero.
fn has_leading_zero(block: &str) -> bool {
    let address = block.split('/').next().unwrap_or_default();
    let last = address.rsplit(':').next().unwrap_or_default();
    last.contains('.') && last.split('.').any(|number| number.len() > 1 && number.starts_with('0'))
}

const IPV4_CSV: &str = include_str!("data/iana-ipv4-special-registry-1.csv");
const IPV6_CSV: &str = include_str!("data/iana-ipv6-special-registry-1.csv");

/// One address block of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    net: IpNet,
    /// IANA's name for the block.
    name: String,
    /// The defining documents, as IANA writes them.
    rfc: String,
    /// The column *Globally Reachable*. `N/A` and blank count as no.
    is_globally_reachable: bool,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.net, self.name, self.rfc)
    }
}

/// Returns the blocks of both registries, or `None` if a file of this build cannot be read.
fn special_blocks() -> Option<&'static [Block]> {
    static BLOCKS: LazyLock<Option<Vec<Block>>> = LazyLock::new(|| {
        let mut blocks = parse_registry(IPV4_CSV)?;
        blocks.extend(parse_registry(IPV6_CSV)?);
        Some(blocks)
    });
    BLOCKS.as_deref()
}

/// Parses a registry file; `None` if any row has an unknown form.
fn parse_registry(csv: &str) -> Option<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let headers = reader.headers().ok()?.clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let (net, name, rfc, reachable) =
        (column("Address Block")?, column("Name")?, column("RFC")?, column("Globally Reachable")?);
    for record in reader.records() {
        let record = record.ok()?;
        // A cell can hold several blocks, and a block can be followed by a footnote: `192.0.0.0/24 [2]`.
        for text in record.get(net)?.split(',') {
            blocks.push(Block {
                net: text.split_whitespace().next()?.parse().ok()?,
                name: record.get(name)?.to_owned(),
                rfc: record.get(rfc)?.split_whitespace().collect::<Vec<_>>().join(" "),
                is_globally_reachable: record.get(reachable)? == "True",
            });
        }
    }
    Some(blocks)
}

#[cfg(test)]
mod tests;
