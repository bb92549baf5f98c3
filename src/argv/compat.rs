//! Rows that only the runtime's compat profile has.

use super::table::Row;

/// Subcommands of the compat profile; one that [`GRAMMAR`](super::table::GRAMMAR) has too replaces it there.
pub const COMPAT: &[Row] = &[];
