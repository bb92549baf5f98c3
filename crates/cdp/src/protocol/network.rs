//! Domains `Network`, `Fetch`, `Storage`, `Emulation` and `IO`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use crate::protocol::command::{BrowserContextId, FetchRequestId, FrameId, LoaderId, NetworkRequestId};

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
pub struct EnableNetwork {
    pub max_total_buffer_size: u32,
    pub max_resource_buffer_size: u32,
    pub max_post_data_size: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnableFetch {
    pub patterns: &'static [RequestPattern],
    pub handle_auth_requests: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestPattern {
    pub url_pattern: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<ResourceType>,
}

/// Kind of a request, as far as it is told apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ResourceType {
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
pub struct ContinueRequest<'a> {
    pub request_id: &'a FetchRequestId,
    /// True to pause at the response, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub intercept_response: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailRequest<'a> {
    pub request_id: &'a FetchRequestId,
    pub error_reason: ErrorReason,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum ErrorReason {
    Aborted,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FulfillRequest<'a> {
    pub request_id: &'a FetchRequestId,
    pub response_code: u16,
    pub response_headers: &'static [HeaderEntry],
    pub body: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct HeaderEntry {
    pub name: &'static str,
    pub value: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContinueWithAuth<'a> {
    pub request_id: &'a FetchRequestId,
    pub auth_challenge_response: AuthChallengeResponse,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AuthChallengeResponse {
    pub response: AuthResponse,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum AuthResponse {
    CancelAuth,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetCookies<'a> {
    pub cookies: Vec<CookieParam<'a>>,
    pub browser_context_id: &'a BrowserContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CookieParam<'a> {
    pub name: &'a str,
    pub value: &'a str,
    pub domain: &'a str,
    pub path: &'a str,
    pub http_only: bool,
    pub secure: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_site: Option<CookieSameSite>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<CookiePartitionKey<'a>>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CookiePartitionKey<'a> {
    pub top_level_site: &'a str,
    pub has_cross_site_ancestor: bool,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum CookieSameSite {
    Strict,
    Lax,
    None,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SetFocusEmulationEnabled {
    pub enabled: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CloseStream<'a> {
    pub handle: &'a str,
}

/// `Fetch.requestPaused`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestPaused {
    pub request_id: FetchRequestId,
    pub request: Request,
    pub frame_id: FrameId,
    /// Status of the response, if that is what waits.
    pub response_status_code: Option<i64>,
    /// Reason for which there is no response, if that is what waits.
    pub response_error_reason: Option<ResponseErrorReason>,
    #[serde(default)]
    pub response_headers: Vec<ResponseHeader>,
}

/// Reason for which a request has no response, none of which is told apart.
#[derive(Debug, Deserialize, JsonSchema)]
pub enum ResponseErrorReason {
    Failed,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResponseHeader {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Request {
    pub url: String,
}

/// `Fetch.authRequired`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthRequired {
    pub request_id: FetchRequestId,
    pub auth_challenge: AuthChallenge,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct AuthChallenge {
    pub origin: String,
    pub realm: String,
}

/// `Network.requestWillBeSent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestWillBeSent {
    pub request_id: NetworkRequestId,
    pub loader_id: LoaderId,
    pub request: Request,
    #[serde(rename = "type")]
    pub kind: Option<ResourceType>,
    pub frame_id: Option<FrameId>,
}

/// `Network.responseReceived`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResponseReceived {
    pub request_id: NetworkRequestId,
    pub response: NetworkResponse,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkResponse {
    pub mime_type: String,
}

/// `Network.loadingFinished` and `Network.loadingFailed`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadingEnded {
    pub request_id: NetworkRequestId,
}
