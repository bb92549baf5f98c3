//! System interface of browser-shell.
//!
//! - [`config`]: settings of a process
//! - [`os`]: processes, re-execution, connections, name resolution with the decision on a URL, the log
//! - [`paths`]: files and folders of sessions
//! - [`confinement`]: rules of the kernel for a process
//! - [`policy_source`]: the policy in force
//! - [`audit`], [`metrics`]: audit lines and counters

pub mod audit;
pub mod config;
pub mod confinement;
pub mod metrics;
pub mod os;
pub mod paths;
pub mod policy_source;
#[doc(hidden)]
pub mod testing;
