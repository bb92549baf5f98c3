//! Domains `Network`, `Fetch`, `Storage`, `Emulation` and `IO`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use super::ids::{BrowserContextId, FetchRequestId, FrameId, LoaderId, NetworkRequestId};

commands! {
    "Network.enable" => EnableNetwork, Nothing;
    "Fetch.enable" => EnableFetch, Nothing;
    "Fetch.continueRequest" => ContinueRequest<'_>, Nothing;
    "Fetch.failRequest" => FailRequest<'_>, Nothing;
    "Fetch.fulfillRequest" => FulfillRequest<'_>, Nothing;
    "Fetch.continueWithAuth" => ContinueWithAuth<'_>, Nothing;
    "Storage.setCookies" => SetCookies<'_>, Nothing;
    "Emulation.setFocusEmulationEnabled" => SetFocusEmulationEnabled, Nothing;
    "IO.close" => CloseStream<'_>, Nothing;
}

/// Reports requests. No body is kept.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EnableNetwork {
    pub(crate) max_total_buffer_size: u32,
    pub(crate) max_resource_buffer_size: u32,
    pub(crate) max_post_data_size: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EnableFetch {
    pub(crate) patterns: &'static [RequestPattern],
    pub(crate) handle_auth_requests: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestPattern {
    pub(crate) url_pattern: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_type: Option<ResourceType>,
}

/// Kind of a request, as far as it is told apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum ResourceType {
    Document,
    Fetch,
    Script,
    Stylesheet,
    #[serde(rename = "XHR")]
    Xhr,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContinueRequest<'a> {
    pub(crate) request_id: &'a FetchRequestId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FailRequest<'a> {
    pub(crate) request_id: &'a FetchRequestId,
    pub(crate) error_reason: ErrorReason,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) enum ErrorReason {
    Aborted,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FulfillRequest<'a> {
    pub(crate) request_id: &'a FetchRequestId,
    pub(crate) response_code: u16,
    pub(crate) response_headers: &'static [HeaderEntry],
    pub(crate) body: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HeaderEntry {
    pub(crate) name: &'static str,
    pub(crate) value: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContinueWithAuth<'a> {
    pub(crate) request_id: &'a FetchRequestId,
    pub(crate) auth_challenge_response: AuthChallengeResponse,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuthChallengeResponse {
    pub(crate) response: AuthResponse,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) enum AuthResponse {
    CancelAuth,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetCookies<'a> {
    pub(crate) cookies: Vec<CookieParam<'a>>,
    pub(crate) browser_context_id: &'a BrowserContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CookieParam<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) path: &'a str,
    pub(crate) http_only: bool,
    pub(crate) secure: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_site: Option<CookieSameSite>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) enum CookieSameSite {
    Strict,
    Lax,
    None,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SetFocusEmulationEnabled {
    pub(crate) enabled: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CloseStream<'a> {
    pub(crate) handle: &'a str,
}

/// `Fetch.requestPaused`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestPaused {
    pub(crate) request_id: FetchRequestId,
    pub(crate) request: Request,
    pub(crate) frame_id: FrameId,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Request {
    pub(crate) url: String,
}

/// `Fetch.authRequired`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthRequired {
    pub(crate) request_id: FetchRequestId,
    pub(crate) auth_challenge: AuthChallenge,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AuthChallenge {
    pub(crate) origin: String,
    pub(crate) realm: String,
}

/// `Network.requestWillBeSent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestWillBeSent {
    pub(crate) request_id: NetworkRequestId,
    pub(crate) loader_id: LoaderId,
    pub(crate) request: Request,
    #[serde(rename = "type")]
    pub(crate) kind: Option<ResourceType>,
    pub(crate) frame_id: Option<FrameId>,
}

/// `Network.responseReceived`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResponseReceived {
    pub(crate) request_id: NetworkRequestId,
    pub(crate) response: NetworkResponse,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NetworkResponse {
    pub(crate) mime_type: String,
}

/// `Network.loadingFinished` and `Network.loadingFailed`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadingEnded {
    pub(crate) request_id: NetworkRequestId,
}
