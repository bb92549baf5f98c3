//! Answers that refuse a request because of its credentials, with their challenges (RFC 6750 section 3), and the metadata of a
//! protected resource (RFC 9728), by which MCP clients find the authorization server.

use axum::http::header::{self, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use browser_shell_core::auth::Scope;
use browser_shell_core::decision::Decision;

/// Path of the metadata.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// Path of the resource.
const RESOURCE_PATH: &str = "/mcp";

/// Answer that refuses a request.
#[derive(Clone, Debug)]
pub struct AuthRefusal {
    /// Status: 401 for credentials that count for nothing, 403 for ones that are not enough, 429 for too many tickets.
    pub(super) status: StatusCode,
    /// Reason with its code.
    pub(super) decision: Box<Decision>,
    /// Challenge that tells the client how to get credentials, for 401 and 403.
    pub(super) challenge: Option<HeaderValue>,
}

impl AuthRefusal {
    /// Returns the reason with its code.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.decision
    }
}

impl IntoResponse for AuthRefusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, format!("{}\n", self.decision)).into_response();
        if let Some(challenge) = self.challenge {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Address of a server, as its clients write it.
#[derive(Clone, Debug)]
pub(super) struct PublicUrl(Option<String>);

impl PublicUrl {
    /// Creates the address from the setting; without one, it is that of each request.
    pub(super) const fn new(origin: Option<String>) -> Self {
        Self(origin)
    }

    /// Returns the host of the setting in the form of a Host header.
    pub(super) fn host(&self) -> Option<String> {
        self.0.as_ref()?.split_once("://").map(|(_, host)| host.to_owned())
    }

    /// Returns the origin of this server for the client that sent these headers.
    fn origin(&self, headers: &HeaderMap) -> Option<String> {
        if self.0.is_some() {
            return self.0.clone();
        }
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, None) = (hosts.next()?.to_str().ok()?, hosts.next()) else { return None };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        (!host.is_empty() && host.bytes().all(is_plain)).then(|| format!("http://{host}"))
    }

    /// Returns the metadata of the resource for the client that sent these headers.
    pub(super) fn metadata(&self, headers: &HeaderMap, issuer: Option<&str>) -> Option<Value> {
        // Clients ask for all of these scopes, so `admin` is not among them.
        let scopes = [Scope::Watch, Scope::Drive].map(Scope::as_str);
        let mut metadata = json!({
            "resource": format!("{}{RESOURCE_PATH}", self.origin(headers)?),
            "resource_name": "browser-shell",
            "bearer_methods_supported": ["header"],
            "scopes_supported": scopes,
        });
        // A member without values is left out (RFC 9728 section 2).
        if let (Some(metadata), Some(issuer)) = (metadata.as_object_mut(), issuer) {
            metadata.insert("authorization_servers".to_owned(), json!([issuer]));
        }
        Some(metadata)
    }

    /// Returns the challenge for a client that sent these headers; `error` is a code of RFC 6750 with a description.
    pub(super) fn challenge(
        &self,
        headers: &HeaderMap,
        scope: Option<Scope>,
        error: Option<(&str, &str)>,
        has_metadata: bool,
    ) -> Option<HeaderValue> {
        let mut parameters = Vec::new();
        if let Some((error, description)) = error {
            // A quoted string of RFC 6750 has no quotes and backslashes.
            let description = description.replace(['"', '\\'], "'");
            parameters.push(format!("error=\"{error}\", error_description=\"{description}\""));
        }
        parameters.extend(scope.map(|scope| format!("scope=\"{scope}\"")));
        if let Some(origin) = self.origin(headers).filter(|_| has_metadata) {
            parameters.push(format!("resource_metadata=\"{origin}{METADATA_PATH}\""));
        }
        HeaderValue::from_str(format!("Bearer {}", parameters.join(", ")).trim_end()).ok()
    }
}
