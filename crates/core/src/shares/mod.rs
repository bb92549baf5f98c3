//! Shares of what a server has a limited number of.

mod connections;
mod proxies;
mod share;

pub use connections::ConnectionTable;
pub use proxies::{TrustedProxies, TrustedProxy};
pub use share::{ClientAddress, Exceeded, Party, Share};
