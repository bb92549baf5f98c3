//! HTTP server parts shared by all front ends: limits, places of connections, and the request filter.

pub(crate) mod filter;
mod places;
pub(crate) mod serve;

pub(crate) use places::SlotHandle;
