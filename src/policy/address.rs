//! Which IP addresses are public (spec [2.4]).
//!
//! Decides by IANA's two special-purpose registries, read from the CSV files in `data/` as IANA publishes them. An address is
//! public only if the most specific registry row says `True` under *Globally Reachable*, or, where no row contains it, if it
//! is plain unicast: not multicast and, for IPv6, inside `2000::/3`. An address that carries an IPv4 address inside is public
//! only if that one is public too. Must never answer "public" because something could not be read.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The date of the registry files in `data/`.
pub const SNAPSHOT: &str = "2026-07-18";

const IPV4_CSV: &str = include_str!("data/iana-ipv4-special-registry-1.csv");
const IPV6_CSV: &str = include_str!("data/iana-ipv6-special-registry-1.csv");

/// One address block of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The block.
    pub net: IpNet,
    /// IANA's name for it.
    pub name: String,
    /// The defining documents, as IANA writes them.
    pub rfc: String,
    /// Whether IANA calls it globally reachable. `N/A` and blank count as no.
    pub globally_reachable: bool,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.net, self.name, self.rfc)
    }
}

/// Why an address is not public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPublic {
    /// A row of IANA's registries contains it and does not call it globally reachable.
    SpecialPurpose(Block),
    /// Multicast: 224.0.0.0/4 (RFC 5771) or `ff00::/8` (RFC 4291).
    Multicast,
    /// IPv6 outside `2000::/3`, the only space that is allocated as global unicast (RFC 4291 section 2.4).
    NotGlobalUnicast,
    /// It carries an IPv4 address that is not public.
    Embeds(Ipv4Addr, Box<NotPublic>),
    /// The registry data of this build cannot be read. Tests rule this out; it refuses everything.
    RegistryUnreadable,
}

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SpecialPurpose(block) => write!(f, "{block} is not globally reachable"),
            Self::Multicast => f.write_str("multicast addresses are not hosts"),
            Self::NotGlobalUnicast => f.write_str("only 2000::/3 is global unicast (RFC 4291)"),
            Self::Embeds(_, inner) => write!(f, "the IPv4 address inside it is not public: {inner}"),
            Self::RegistryUnreadable => f.write_str("the address registries of this build cannot be read"),
        }
    }
}

/// All blocks of both registries, or `None` if the files of this build are damaged.
#[must_use]
pub fn registry() -> Option<&'static [Block]> {
    static REGISTRY: LazyLock<Option<Vec<Block>>> = LazyLock::new(|| {
        let mut blocks = read_registry(IPV4_CSV)?;
        blocks.extend(read_registry(IPV6_CSV)?);
        Some(blocks)
    });
    REGISTRY.as_deref()
}

/// Reads one registry file; `None` if any row is not understood.
fn read_registry(csv: &str) -> Option<Vec<Block>> {
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
                globally_reachable: record.get(reachable)? == "True",
            });
        }
    }
    Some(blocks)
}

/// Whether an address is public.
///
/// # Errors
///
/// Says which rule keeps it from being public.
pub fn check_public(address: IpAddr) -> Result<(), NotPublic> {
    check_unless(address, |_| false)
}

/// Whether an address is public or named on purpose: `named` is asked for the address itself and for one embedded in it.
///
/// # Errors
///
/// Says which rule keeps it from being public.
pub fn check_unless(address: IpAddr, named: impl Fn(IpAddr) -> bool + Copy) -> Result<(), NotPublic> {
    if !named(address) {
        check_own(address)?;
    }
    if let IpAddr::V6(v6) = address {
        for inner in embedded(v6) {
            check_unless(IpAddr::V4(inner), named).map_err(|why| NotPublic::Embeds(inner, Box::new(why)))?;
        }
    }
    Ok(())
}

/// The decision on the address as it stands, without what it embeds.
fn check_own(address: IpAddr) -> Result<(), NotPublic> {
    let blocks = registry().ok_or(NotPublic::RegistryUnreadable)?;
    let row = blocks.iter().filter(|block| block.net.contains(&address)).max_by_key(|block| block.net.prefix_len());
    match row {
        Some(block) if block.globally_reachable => Ok(()),
        Some(block) => Err(NotPublic::SpecialPurpose(block.clone())),
        None if address.is_multicast() => Err(NotPublic::Multicast),
        None => match address {
            IpAddr::V4(_) => Ok(()),
            IpAddr::V6(v6) if GLOBAL_UNICAST.contains(&v6) => Ok(()),
            IpAddr::V6(_) => Err(NotPublic::NotGlobalUnicast),
        },
    }
}

const GLOBAL_UNICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The IPv4 addresses that an IPv6 address carries: a gateway or a tunnel may deliver to them.
fn embedded(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        // `::` and `::1` have rows of their own.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        // IPv4-mapped (RFC 4291), IPv4-compatible (deprecated there), NAT64 (RFC 6052); 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            vec![join(high, low)]
        }
        // Teredo (RFC 4380): the server as it is, the client with all bits turned.
        [0x2001, 0, server_high, server_low, _, _, client_high, client_low] => {
            vec![join(server_high, server_low), join(!client_high, !client_low)]
        }
        _ => Vec::new(),
    }
}

/// All addresses under which one and the same host may be meant: itself, what it embeds, and the IPv4-mapped forms of these.
pub(super) fn spellings(address: IpAddr) -> Vec<IpAddr> {
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

/// The first of `cidrs` that contains the address.
#[must_use]
pub fn position_in(cidrs: &[IpNet], address: IpAddr) -> Option<usize> {
    cidrs.iter().position(|net| net.contains(&address))
}

/// Reads an address or a CIDR block; the host bits of a block must be zero, so that a typing error shows.
///
/// # Errors
///
/// A text that says what is wrong with the value.
pub fn parse_cidr(text: &str) -> Result<IpNet, String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(match address {
            IpAddr::V4(v4) => IpNet::V4(Ipv4Net::from(v4)),
            IpAddr::V6(v6) => IpNet::V6(Ipv6Net::from(v6)),
        });
    }
    let net: IpNet = text.parse().map_err(|_| format!("`{text}` is not an address block; write it as `10.0.0.0/8`"))?;
    if net.trunc() == net {
        Ok(net)
    } else {
        Err(format!("`{text}` has bits set after its prefix; write `{}`", net.trunc()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    #[test]
    fn spec_2_4_every_row_of_both_registries() {
        // Every row is tested at its first and last address: the answer is that of the most specific row there. The golden
        // pins rows, names and answers, so that an update of the data shows exactly what changes.
        let blocks = registry().expect("the data files parse");
        assert_eq!(blocks.len(), 51, "25 IPv4 rows of which one names two blocks, and 25 IPv6 rows");
        let mut golden = Vec::new();
        for block in blocks {
            for address in [block.net.network(), block.net.broadcast()] {
                let narrowest = blocks
                    .iter()
                    .filter(|other| other.net.contains(&address))
                    .max_by_key(|other| other.net.prefix_len())
                    .expect("the block itself contains it");
                let answer = check_own(address);
                assert_eq!(answer.is_ok(), narrowest.globally_reachable, "{address} in {block}");
            }
            let word = if block.globally_reachable { "public" } else { "refused" };
            golden.push(format!("{word:<8} {block}"));
        }
        insta::assert_snapshot!(golden.join("\n"));
    }

    #[test]
    fn spec_2_4_addresses_by_name() {
        let rows: &[(&str, bool, &str)] = &[
            ("8.8.8.8", true, "plain unicast"),
            ("1.1.1.1", true, "plain unicast"),
            ("192.0.0.9", true, "a public exception inside 192.0.0.0/24"),
            ("192.0.0.10", true, "a public exception inside 192.0.0.0/24"),
            ("192.0.0.11", false, "the rest of 192.0.0.0/24"),
            ("192.31.196.7", true, "AS112-v4"),
            ("192.52.193.1", true, "AMT"),
            ("192.175.48.6", true, "AS112 direct delegation"),
            ("192.88.99.1", false, "terminated: the cell is blank"),
            ("127.0.0.1", false, "loopback"),
            ("127.255.255.254", false, "all of 127/8"),
            ("0.0.0.0", false, "this host"),
            ("10.0.0.1", false, "private"),
            ("172.15.255.255", true, "just below 172.16/12"),
            ("172.16.0.0", false, "private"),
            ("172.31.255.255", false, "private"),
            ("172.32.0.0", true, "just above 172.16/12"),
            ("192.168.1.1", false, "private"),
            ("169.254.169.254", false, "link local: cloud metadata"),
            ("100.64.0.1", false, "carrier-grade NAT"),
            ("100.127.255.255", false, "carrier-grade NAT"),
            ("100.128.0.0", true, "just above"),
            ("198.18.0.1", false, "benchmarking"),
            ("198.20.0.0", true, "just above benchmarking"),
            ("224.0.0.1", false, "multicast"),
            ("239.255.255.255", false, "multicast"),
            ("240.0.0.1", false, "reserved"),
            ("255.255.255.255", false, "broadcast"),
            ("2606:4700::1111", true, "plain unicast"),
            ("2001:1::1", true, "a public exception inside 2001::/23"),
            ("2001:1::4", false, "the rest of 2001::/23"),
            ("2001:4860:4860::8888", true, "outside 2001::/23"),
            ("2001:20::1", true, "ORCHIDv2"),
            ("2001:db8::1", false, "documentation"),
            ("3fff::1", false, "documentation"),
            ("::", false, "unspecified"),
            ("::1", false, "loopback"),
            ("::2", false, "IPv4-compatible space"),
            ("::8.8.8.8", false, "IPv4-compatible space is not global unicast"),
            ("::ffff:127.0.0.1", false, "mapped loopback"),
            ("::ffff:8.8.8.8", false, "the mapped block is not globally reachable"),
            ("64:ff9b::8.8.8.8", true, "NAT64 of a public address"),
            ("64:ff9b::10.0.0.1", false, "NAT64 of a private address"),
            ("64:ff9b::127.0.0.1", false, "NAT64 of loopback"),
            ("64:ff9b:1::8.8.8.8", false, "local-use NAT64"),
            ("2002:7f00:1::", false, "6to4 of 127.0.0.1"),
            ("2002:808:808::1", false, "6to4 is N/A in the registry"),
            ("2001:0:808:808::", false, "Teredo is N/A in the registry"),
            ("fc00::1", false, "unique local"),
            ("fd12:3456::1", false, "unique local"),
            ("fe80::1", false, "link local"),
            ("fec0::1", false, "site local, deprecated"),
            ("ff02::1", false, "multicast"),
            ("4000::1", false, "unallocated"),
            ("5f00::1", false, "SRv6 SIDs"),
        ];
        for (address, public, why) in rows {
            assert_eq!(check_public(ip(address)).is_ok(), *public, "{address}: {why}");
        }
    }

    #[test]
    fn spec_2_4_an_embedded_address_must_be_named_too() {
        let nets = [parse_cidr("2002::/16").expect("a block"), parse_cidr("64:ff9b::/96").expect("a block")];
        let named = |address| position_in(&nets, address).is_some();
        assert!(check_unless(ip("2002:808:808::1"), named).is_ok(), "6to4 is named and 8.8.8.8 is public");
        assert!(check_unless(ip("2002:7f00:1::"), named).is_err(), "127.0.0.1 inside is not named");
        assert!(check_unless(ip("64:ff9b::10.0.0.1"), named).is_err(), "10.0.0.1 inside is not named");
    }

    #[test]
    fn cidr_errors_name_the_fix() {
        assert_eq!(
            parse_cidr("10.0.0.1/8").expect_err("host bits"),
            "`10.0.0.1/8` has bits set after its prefix; write `10.0.0.0/8`"
        );
        assert!(parse_cidr("10.0.0.0/33").is_err());
        assert!(parse_cidr("example.com").is_err());
        assert_eq!(parse_cidr("10.1.2.3").expect("one address").to_string(), "10.1.2.3/32");
    }

    proptest! {
        #[test]
        fn mapping_never_makes_an_address_public(bits: u32) {
            let v4 = Ipv4Addr::from_bits(bits);
            if check_public(IpAddr::V4(v4)).is_err() {
                let [a, b, c, d] = v4.octets();
                let [high, low] = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
                for v6 in [
                    v4.to_ipv6_mapped(),
                    Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                    Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                    Ipv6Addr::new(0x2001, 0, 0x808, 0x808, 0, 0, !high, !low),
                ] {
                    prop_assert!(check_public(IpAddr::V6(v6)).is_err(), "{v6} carries {v4}");
                }
            }
        }

        #[test]
        fn naming_more_blocks_never_refuses_more(bits: u128, prefix in 0u8..=128) {
            let address = IpAddr::V6(Ipv6Addr::from_bits(bits));
            let net = IpNet::new(address, prefix).expect("a valid prefix").trunc();
            if check_public(address).is_ok() {
                prop_assert!(check_unless(address, |other| net.contains(&other)).is_ok());
            }
        }
    }
}
