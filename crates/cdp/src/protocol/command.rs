//! Ids of the debugging protocol, each a type of its own; commands and events as types, and the list of them that a test
//! compares with Chromium's own.
//!
//! The macros below make a type a command or an event, and list it. So none is sent or read that the test does not see.
//!
//! Invariants: members that Chromium adds are ignored; a value that an enum does not have is kept as a text.

use std::borrow::Borrow;
use std::fmt;

use browser_shell_core::gate::read_chromium;
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

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

/// Command of the debugging protocol, with its parameters.
pub trait CdpCommand: Serialize {
    /// Name, such as `Page.navigate`.
    const METHOD: &'static str;

    /// Result, as far as it is read.
    type Response: DeserializeOwned;
}

/// Result or parameters of which nothing is read.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct Nothing {}

/// Parts of a command or an event, for the comparison with Chromium.
#[derive(Debug)]
pub struct Described {
    /// Name, such as `Page.navigate`.
    pub method: &'static str,
    /// True if it is an event.
    pub is_event: bool,
    /// Schema of the parameters.
    pub params: Schema,
    /// Schema of the result of a command.
    pub response: Option<Schema>,
}

impl Described {
    pub(super) fn command<C: CdpCommand + JsonSchema>() -> Self
    where
        C::Response: JsonSchema,
    {
        let response = Some(schema::<C::Response>(Contract::Deserialize));
        Self { method: C::METHOD, is_event: false, params: schema::<C>(Contract::Serialize), response }
    }

    pub(super) fn event<E: JsonSchema>(method: &'static str) -> Self {
        Self { method, is_event: true, params: schema::<E>(Contract::Deserialize), response: None }
    }
}

fn schema<T: JsonSchema>(contract: Contract) -> Schema {
    SchemaSettings::default().with(|settings| settings.contract = contract).into_generator().into_root_schema_for::<T>()
}

/// Makes types commands, each with its result.
macro_rules! commands {
    ($($method:literal => $command:ty, $response:ty;)*) => {
        $(
            impl $crate::protocol::command::CdpCommand for $command {
                const METHOD: &'static str = $method;
                type Response = $response;
            }
        )*

        /// Returns the commands.
        pub(super) fn described() -> Vec<$crate::protocol::command::Described> {
            vec![$($crate::protocol::command::Described::command::<$command>()),*]
        }
    };
}

/// Makes an enum of events, each with its parameters.
macro_rules! events {
    ($(#[$doc:meta])* enum $name:ident { $($method:literal => $variant:ident($params:ty),)* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {
            $(#[doc = concat!("`", $method, "`.")] $variant($params),)*
        }

        impl $name {
            /// Reads an event. Returns `None` if it is not one of these, or has another form.
            pub fn read(method: &str, params: Option<&serde_json::value::RawValue>) -> Option<Self> {
                match method {
                    $($method => $crate::protocol::command::read_params(method, params).map(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the events.
            pub(super) fn described() -> Vec<$crate::protocol::command::Described> {
                vec![$($crate::protocol::command::Described::event::<$params>($method)),*]
            }
        }
    };
}

pub(super) use {commands, events};

/// Reads the parameters of an event. Returns `None` if they have another form.
pub fn read_params<T: DeserializeOwned>(method: &str, params: Option<&RawValue>) -> Option<T> {
    let read = read_chromium(params.map_or("{}", RawValue::get));
    read.inspect_err(|error| tracing::warn!(%error, method, "an event of Chromium has another form")).ok()
}

/// Reads a value that may be `null`, as opposed to one that is not there.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
