//! Ids of the debugging protocol, each a type of its own.

use std::borrow::Borrow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident = $cdp:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
            #[schemars(extend("cdp" = $cdp))]
            pub struct $name(String);

            impl $name {
                /// Returns the text of the id.
                #[allow(dead_code, reason = "not each id is needed as a text")]
                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl From<&str> for $name {
                fn from(id: &str) -> Self {
                    Self(id.to_owned())
                }
            }

            impl Borrow<str> for $name {
                fn borrow(&self) -> &str {
                    &self.0
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.fmt(f)
                }
            }
        )*
    };
}

macro_rules! number_ids {
    ($($(#[$doc:meta])* $name:ident($number:ident) = $cdp:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
            #[schemars(extend("cdp" = $cdp))]
            pub struct $name(pub $number);
        )*
    };
}

text_ids! {
    /// Target: a tab, or a frame with a process of its own.
    TargetId = "Target.TargetID";
    /// Browser context.
    BrowserContextId = "Browser.BrowserContextID";
    /// Debugging session. A session of an agent has a `SessionId`.
    DebugSessionId = "Target.SessionID";
    /// Frame. The outermost one of a tab has the tab's id, and one with a process of its own that of its target.
    FrameId = "Page.FrameId";
    /// Document that a frame shows, by what loaded it.
    LoaderId = "Network.LoaderId";
    /// Request of the network.
    NetworkRequestId = "Network.RequestId";
    /// Request that waits for an answer.
    FetchRequestId = "Fetch.RequestId";
    /// Object of JavaScript.
    RemoteObjectId = "Runtime.RemoteObjectId";
}

number_ids! {
    /// Node, for as long as its document lives.
    BackendNodeId(u64) = "DOM.BackendNodeId";
    /// Node of which Chromium tells changes.
    NodeId(u64) = "DOM.NodeId";
    /// World in which scripts of a document run.
    ExecutionContextId(i64) = "Runtime.ExecutionContextId";
    /// Window.
    WindowId(i64) = "Browser.WindowID";
}

impl TargetId {
    /// Returns the outermost frame of a tab, or the frame that the target is.
    #[must_use]
    pub fn frame(&self) -> FrameId {
        FrameId(self.0.clone())
    }
}
