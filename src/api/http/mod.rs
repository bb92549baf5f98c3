//! HTTP server parts shared by all front ends: limits and the request filter.

pub(crate) mod filter;
pub(crate) mod serve;
