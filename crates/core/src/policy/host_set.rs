//! Host lists of a policy file, with positions.

use std::collections::HashMap;

/// Hosts or host suffixes, each with its position in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostSet(HashMap<String, usize>);

impl From<Vec<String>> for HostSet {
    /// Takes the hosts in the order of the file. If a host is listed twice, its first position applies.
    fn from(hosts: Vec<String>) -> Self {
        let mut positions = HashMap::new();
        for (position, host) in hosts.into_iter().enumerate() {
            positions.entry(host).or_insert(position);
        }
        Self(positions)
    }
}

impl HostSet {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the hosts with their positions, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(host, position)| (host.as_str(), *position))
    }

    /// Returns the position of a host.
    pub(super) fn position(&self, host: &str) -> Option<usize> {
        self.0.get(host).copied()
    }

    /// Returns the position of a host, or of a suffix of it, in a list that has both.
    pub(super) fn any_position(&self, host: &str) -> Option<usize> {
        self.position(host).or_else(|| self.suffix_position(host))
    }

    /// Returns the position of a suffix of a host: `.example.com` matches `a.example.com` and `a.b.example.com`, and does not
    /// match `example.com`.
    pub(super) fn suffix_position(&self, host: &str) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        host.match_indices('.').find_map(|(dot, _)| host.get(dot..).and_then(|suffix| self.position(suffix)))
    }
}
