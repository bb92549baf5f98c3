use proptest::prelude::*;

use super::*;

fn is_public(address: IpAddr) -> bool {
    check_public(address, |_| false).is_ok()
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect(text)
}

// Requirement 2.4.
#[test]
fn every_iana_registry_row_is_classified() {
    // Every row is tested at its first and last address: the answer is that of the most specific row there. The golden
    // pins rows, names and answers, so that an update of the data shows exactly what changes.
    let blocks = special_blocks().expect("the data files parse");
    assert_eq!(blocks.len(), 51, "25 IPv4 rows of which one names two blocks, and 25 IPv6 rows");
    let mut golden = Vec::new();
    for block in blocks {
        for address in [block.net.network(), block.net.broadcast()] {
            let narrowest = blocks
                .iter()
                .filter(|other| other.net.contains(&address))
                .max_by_key(|other| other.net.prefix_len())
                .expect("the block itself contains it");
            let answer = check_outer(address);
            assert_eq!(answer.is_ok(), narrowest.is_globally_reachable, "{address} in {block}");
        }
        let word = if block.is_globally_reachable { "public" } else { "refused" };
        golden.push(format!("{word:<8} {block}"));
    }
    insta::assert_snapshot!(golden.join("\n"));
}

// Requirement 2.4.
#[test]
fn addresses_are_classified_by_range() {
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
        ("168.63.129.16", false, "the host of Azure's machines"),
        ("168.63.129.15", true, "just below it"),
        ("168.63.129.17", true, "just above it"),
        ("::ffff:168.63.129.16", false, "the host of Azure's machines, mapped"),
        ("64:ff9b::168.63.129.16", false, "NAT64 of the host of Azure's machines"),
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
        assert_eq!(is_public(ip(address)), *public, "{address}: {why}");
    }
}

// Requirement 2.4.
#[test]
fn embedded_address_must_be_allowed_too() {
    let nets = [parse_cidr("2002::/16").expect("a block"), parse_cidr("64:ff9b::/96").expect("a block")];
    let is_exempt = |address| position_of_block(&nets, address).is_some();
    assert!(check_public(ip("2002:808:808::1"), is_exempt).is_ok(), "6to4 is named and 8.8.8.8 is public");
    assert!(check_public(ip("2002:7f00:1::"), is_exempt).is_err(), "127.0.0.1 inside is not named");
    assert!(check_public(ip("64:ff9b::10.0.0.1"), is_exempt).is_err(), "10.0.0.1 inside is not named");
}

#[test]
fn host_of_a_cloud_is_allowed_by_its_address_only() {
    let (address, mapped) = (ip("168.63.129.16"), ip("::ffff:168.63.129.16"));
    assert_eq!(check_public(address, |_| false), Err(NotPublic::CloudHost));
    assert!(check_public(mapped, |outer| outer == mapped).is_err(), "the address inside is not named");
    let nets = [parse_cidr("168.63.129.16").expect("one address"), parse_cidr("::ffff:0:0/96").expect("a block")];
    let is_exempt = |address| position_of_block(&nets, address).is_some();
    assert_eq!(check_public(address, is_exempt), Ok(()));
    assert_eq!(check_public(mapped, is_exempt), Ok(()));
}

#[test]
fn cidr_errors_name_the_fix() {
    assert_eq!(
        parse_cidr("10.0.0.1/8").expect_err("host bits").to_string(),
        "`10.0.0.1/8` has bits set after its prefix; write `10.0.0.0/8`"
    );
    assert!(parse_cidr("10.0.0.0/33").is_err());
    assert!(parse_cidr("example.com").is_err());
    assert_eq!(parse_cidr("10.1.2.3").expect("one address").to_string(), "10.1.2.3/32");
    for text in ["010.0.0.0/8", "10.00.0.0/8", "::ffff:10.0.01.0/120"] {
        assert!(parse_cidr(text).is_err(), "{text}");
    }
    assert!(parse_cidr("010.0.0.0/8").expect_err("octal").to_string().contains("leading zero"));
    for text in ["0.0.0.0/0", "::/0", "fd00:0010::/32", "2002::/16", "::ffff:127.0.0.0/104"] {
        assert!(parse_cidr(text).is_ok(), "control: {text}");
    }
}

proptest! {
    #[test]
    fn ipv4_mapping_never_makes_address_public(bits: u32) {
        let v4 = Ipv4Addr::from_bits(bits);
        if !is_public(IpAddr::V4(v4)) {
            let [a, b, c, d] = v4.octets();
            let [high, low] = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
            for v6 in [
                v4.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, 0x808, 0x808, 0, 0, !high, !low),
            ] {
                prop_assert!(!is_public(IpAddr::V6(v6)), "{v6} carries {v4}");
            }
        }
    }

    #[test]
    fn allowing_more_cidrs_never_refuses_more(bits: u128, prefix in 0u8..=128) {
        let address = IpAddr::V6(Ipv6Addr::from_bits(bits));
        let net = IpNet::new(address, prefix).expect("a valid prefix").trunc();
        if is_public(address) {
            prop_assert!(check_public(address, |other| net.contains(&other)).is_ok());
        }
    }
}
