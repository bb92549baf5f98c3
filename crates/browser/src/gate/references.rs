//! References of a session: numbers that stand for nodes of its documents.
//!
//! Invariants: a node of a document keeps its number as long as the document is there; a number is never given to another node.

use std::collections::{BTreeMap, HashMap};

use browser_shell_cdp::protocol::{BackendNodeId, DebugSessionId, FrameId, LoaderId, TargetId};

/// Maximum number of references that a session keeps. Older ones are gone.
const MAX_REFERENCES: usize = 65_536;

/// Node of a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeAddress {
    /// Target of the tab.
    pub page: TargetId,
    /// The gate's own session on the process of the frame.
    pub session: DebugSessionId,
    /// Frame.
    pub frame: FrameId,
    /// Document that the frame showed, by the id of its loader.
    pub document: LoaderId,
    /// Id of the node in its process.
    pub node: BackendNodeId,
}

/// References of a session.
#[derive(Debug, Default)]
pub(super) struct References {
    numbers: HashMap<NodeAddress, u32>,
    addresses: BTreeMap<u32, NodeAddress>,
    /// Last number that was given.
    last: u32,
}

impl References {
    /// Returns the number of a node, a new one if it has none. Numbers begin at 1.
    pub(super) fn number(&mut self, address: &NodeAddress) -> u32 {
        if let Some(number) = self.numbers.get(address) {
            return *number;
        }
        self.last = self.last.saturating_add(1);
        self.numbers.insert(address.clone(), self.last);
        self.addresses.insert(self.last, address.clone());
        while self.addresses.len() > MAX_REFERENCES {
            let Some((_, oldest)) = self.addresses.pop_first() else { break };
            self.numbers.remove(&oldest);
        }
        self.last
    }

    /// Returns the node of a number.
    pub(super) fn find(&self, number: u32) -> Option<NodeAddress> {
        self.addresses.get(&number).cloned()
    }

    /// Forgets the nodes for which a predicate is false.
    pub(super) fn retain(&mut self, is_known: impl Fn(&NodeAddress) -> bool) {
        self.numbers.retain(|address, _| is_known(address));
        self.addresses.retain(|_, address| is_known(address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(document: &str, node: u64) -> NodeAddress {
        NodeAddress {
            page: "page".into(),
            session: "session".into(),
            frame: "frame".into(),
            document: document.into(),
            node: BackendNodeId(node),
        }
    }

    #[test]
    fn node_keeps_its_number() {
        let mut references = References::default();
        assert_eq!(references.number(&address("a", 7)), 1);
        assert_eq!(references.number(&address("a", 8)), 2);
        assert_eq!(references.number(&address("b", 7)), 3);
        assert_eq!(references.number(&address("a", 7)), 1);
        assert_eq!(references.find(2), Some(address("a", 8)));
        assert_eq!(references.find(4), None);
        assert_eq!(references.find(0), None);
    }

    #[test]
    fn number_of_a_gone_document_is_not_used_again() {
        let mut references = References::default();
        references.number(&address("a", 7));
        references.number(&address("b", 7));
        references.retain(|address| address.document.as_str() == "b");
        assert_eq!(references.find(1), None);
        assert_eq!(references.find(2), Some(address("b", 7)));
        assert_eq!(references.number(&address("a", 7)), 3);
    }

    #[test]
    fn oldest_references_are_forgotten_at_the_limit() {
        let mut references = References::default();
        for node in 0..=MAX_REFERENCES as u64 {
            references.number(&address("a", node));
        }
        assert_eq!(references.find(1), None);
        assert_eq!(references.find(2), Some(address("a", 1)));
        assert_eq!(usize::try_from(references.number(&address("a", 0))).ok(), Some(MAX_REFERENCES + 2));
    }
}
