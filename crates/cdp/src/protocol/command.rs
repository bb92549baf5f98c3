//! Commands and events as types, and the list of them that a test compares with Chromium's own.
//!
//! The macros below make a type a command or an event, and list it. So none is sent or read that the test does not see.
//!
//! Invariants: members that Chromium adds are ignored; a value that an enum does not have is kept as a text.

use browser_shell_core::gate::read_chromium;
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

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
