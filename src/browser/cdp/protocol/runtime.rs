//! Domain `Runtime`, and the listeners of `DOMDebugger`.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::{Nothing, commands, present};
use super::ids::{BackendNodeId, ExecutionContextId, RemoteObjectId};

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

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EnableRuntime {}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Evaluate<'a> {
    pub(crate) expression: &'a str,
    /// World; that of the page without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_id: Option<ExecutionContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object_group: Option<&'a str>,
    pub(crate) return_by_value: bool,
    pub(crate) await_promise: bool,
    pub(crate) user_gesture: bool,
}

/// Result of a script.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Evaluated {
    pub(crate) result: RemoteObject,
    /// Present if the script failed.
    pub(crate) exception_details: Option<Nothing>,
}

impl Evaluated {
    /// Returns what the script returned; `None` if it failed.
    pub(crate) fn into_result(self) -> Option<RemoteObject> {
        self.exception_details.is_none().then_some(self.result)
    }

    /// Returns the value that the script returned; `None` if it failed, or the value has another type.
    pub(crate) fn value<T: DeserializeOwned>(self) -> Option<T> {
        self.into_result()?.into_value()
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RemoteObject {
    pub(crate) subtype: Option<ObjectSubtype>,
    /// The value itself, if it was asked for.
    #[serde(default, deserialize_with = "present")]
    pub(crate) value: Option<Value>,
    pub(crate) object_id: Option<RemoteObjectId>,
}

impl RemoteObject {
    /// Returns the value, if it has this type. `undefined` is read like `null`.
    pub(crate) fn into_value<T: DeserializeOwned>(self) -> Option<T> {
        serde_json::from_value(self.value.unwrap_or_default()).ok()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ObjectSubtype {
    Null,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallFunctionOn<'a> {
    pub(crate) object_id: &'a RemoteObjectId,
    pub(crate) function_declaration: &'a str,
    pub(crate) arguments: Vec<CallArgument<'a>>,
    pub(crate) return_by_value: bool,
    pub(crate) await_promise: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object_group: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CallArgument<'a> {
    pub(crate) value: &'a Value,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetProperties<'a> {
    pub(crate) object_id: &'a RemoteObjectId,
    pub(crate) own_properties: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Properties {
    pub(crate) result: Vec<Property>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Property {
    pub(crate) value: Option<RemoteObject>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReleaseObject<'a> {
    pub(crate) object_id: &'a RemoteObjectId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReleaseObjectGroup {
    pub(crate) object_group: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AddBinding<'a> {
    pub(crate) name: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunIfWaitingForDebugger {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetEventListeners<'a> {
    pub(crate) object_id: &'a RemoteObjectId,
    pub(crate) depth: i32,
    pub(crate) pierce: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EventListeners {
    pub(crate) listeners: Vec<EventListener>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventListener {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) backend_node_id: Option<BackendNodeId>,
}

/// `Runtime.bindingCalled`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BindingCalled {
    pub(crate) name: String,
    pub(crate) payload: String,
}
