//! Snapshot that is asked for.

use browser_shell_core::snapshot::Options;

/// Snapshot that is asked for.
#[derive(Clone, Debug, Default)]
pub struct SnapshotRequest {
    /// View of the page; its root is chosen by the selector.
    pub options: Options,
    /// Selector or reference of the element to begin with.
    pub selector: Option<String>,
    /// Text or role that the parts of the page are shown of.
    pub wanted: Option<String>,
}
