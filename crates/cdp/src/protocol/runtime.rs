//! Domain `Runtime`, and the listeners of `DOMDebugger`.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::{Nothing, commands, present};
use crate::protocol::command::{BackendNodeId, ExecutionContextId, RemoteObjectId};

commands! {
    "Runtime.enable" => EnableRuntime, Nothing;
    "Runtime.evaluate" => Evaluate<'_>, Evaluated;
    "Runtime.callFunctionOn" => CallFunctionOn<'_>, Evaluated;
    "Runtime.getProperties" => GetProperties<'_>, Properties;
    "Runtime.releaseObject" => ReleaseObject<'_>, Nothing;
    "Runtime.releaseObjectGroup" => ReleaseObjectGroup, Nothing;
    "Runtime.addBinding" => AddBinding<'_>, Nothing;
    "Runtime.runIfWaitingForDebugger" => RunIfWaitingForDebugger, Nothing;
    "DOMDebugger.getEventListeners" => GetEventListeners<'_>, EventListeners;
}

/// Events by which a page logs something, of which nothing is read.
pub(crate) const LOGGED: [&str; 2] = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown"];

#[derive(Debug, Serialize, JsonSchema)]
pub struct EnableRuntime {}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evaluate<'a> {
    pub expression: &'a str,
    /// World; that of the page without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ExecutionContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_group: Option<&'a str>,
    pub return_by_value: bool,
    pub await_promise: bool,
    pub user_gesture: bool,
}

/// Result of a script.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evaluated {
    pub result: RemoteObject,
    /// Present if the script failed.
    pub exception_details: Option<Nothing>,
}

impl Evaluated {
    /// Returns what the script returned; `None` if it failed.
    #[must_use]
    pub fn into_result(self) -> Option<RemoteObject> {
        self.exception_details.is_none().then_some(self.result)
    }

    /// Returns the value that the script returned; `None` if it failed, or the value has another type.
    #[must_use]
    pub fn value<T: DeserializeOwned>(self) -> Option<T> {
        self.into_result()?.into_value()
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteObject {
    pub subtype: Option<ObjectSubtype>,
    /// The value itself, if it was asked for.
    #[serde(default, deserialize_with = "present")]
    pub value: Option<Value>,
    pub object_id: Option<RemoteObjectId>,
}

impl RemoteObject {
    /// Returns the value, if it has this type. `undefined` is read like `null`.
    #[must_use]
    pub fn into_value<T: DeserializeOwned>(self) -> Option<T> {
        serde_json::from_value(self.value.unwrap_or_default()).ok()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ObjectSubtype {
    Null,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallFunctionOn<'a> {
    pub object_id: &'a RemoteObjectId,
    pub function_declaration: &'a str,
    pub arguments: Vec<CallArgument<'a>>,
    pub return_by_value: bool,
    pub await_promise: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_group: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CallArgument<'a> {
    pub value: &'a Value,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetProperties<'a> {
    pub object_id: &'a RemoteObjectId,
    pub own_properties: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Properties {
    pub result: Vec<Property>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Property {
    pub value: Option<RemoteObject>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseObject<'a> {
    pub object_id: &'a RemoteObjectId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseObjectGroup {
    pub object_group: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AddBinding<'a> {
    pub name: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RunIfWaitingForDebugger {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetEventListeners<'a> {
    pub object_id: &'a RemoteObjectId,
    pub depth: i32,
    pub pierce: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct EventListeners {
    pub listeners: Vec<EventListener>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventListener {
    #[serde(rename = "type")]
    pub kind: String,
    pub backend_node_id: Option<BackendNodeId>,
}

/// `Runtime.bindingCalled`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BindingCalled {
    pub name: String,
    pub payload: String,
}
