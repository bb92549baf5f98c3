//! IANA special-purpose address registries.
//!
//! The CSV files in `data/` are unchanged copies of what IANA publishes; `data/README.md` names their date and how to update
//! them.

use std::fmt;
use std::sync::LazyLock;

use ipnet::IpNet;

const IPV4_CSV: &str = include_str!("data/iana-ipv4-special-registry-1.csv");
const IPV6_CSV: &str = include_str!("data/iana-ipv6-special-registry-1.csv");

/// One address block of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) net: IpNet,
    /// IANA's name for the block.
    pub(super) name: String,
    /// The defining documents, as IANA writes them.
    pub(super) rfc: String,
    /// The column *Globally Reachable*. `N/A` and blank count as no.
    pub(super) is_globally_reachable: bool,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.net, self.name, self.rfc)
    }
}

/// Returns the blocks of both registries, or `None` if a file of this build cannot be read.
pub(super) fn blocks() -> Option<&'static [Block]> {
    static BLOCKS: LazyLock<Option<Vec<Block>>> = LazyLock::new(|| {
        let mut blocks = parse(IPV4_CSV)?;
        blocks.extend(parse(IPV6_CSV)?);
        Some(blocks)
    });
    BLOCKS.as_deref()
}

/// Parses a registry file; `None` if any row has an unknown form.
fn parse(csv: &str) -> Option<Vec<Block>> {
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
