//! Client of a container engine, over HTTP on its Unix socket. Docker and podman have the same API.
//!
//! Five small requests need neither a pool of connections nor typed models of the whole API.

use std::fmt::Display;
use std::path::Path;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use serde_json::Value;
use thiserror::Error;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use browser_shell_system::os::http_client;

/// The largest response that is read, in bytes.
const MAX_RESPONSE: usize = 1024 * 1024;

/// Error of a request to an engine, or of a container.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The socket cannot be connected to.
    #[error("cannot connect to the container engine for `{path}`: {source}")]
    Connect {
        /// The path of the request.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The response is not HTTP, or too large.
    #[error("no valid response of the container engine to `{path}`: {message}")]
    Http {
        /// The path of the request.
        path: String,
        /// The reason.
        message: String,
    },
    /// The engine refused the request.
    #[error("the container engine refused `{path}` with {status}: {message}")]
    Refused {
        /// The path of the request.
        path: String,
        /// The status of the response.
        status: StatusCode,
        /// The engine's message.
        message: String,
    },
    /// The engine created a container and returned no valid id.
    #[error("the engine created a container and returned no valid id")]
    NoContainerId,
    /// The container ended by itself.
    #[error("the container ended with {0}")]
    Ended(i64),
}

/// Creates and starts a container, and waits for its end or the token. Removes it in either case.
///
/// # Errors
///
/// If the engine fails, or the container ends by itself.
pub(super) async fn run_container(engine: &Path, create: &Value, stop: &CancellationToken) -> Result<(), EngineError> {
    let mut create = create.clone();
    let info = request(engine, Method::GET, "/info", &Value::Null).await?;
    let options = info.get("SecurityOptions").and_then(Value::as_array);
    let is_rootless = options.is_some_and(|options| options.iter().any(|option| option == "name=rootless"));
    if let Some(host) = create.get_mut("HostConfig").filter(|_| is_rootless).and_then(Value::as_object_mut) {
        // Otherwise the user id inside would be a different one outside.
        host.insert("UsernsMode".to_owned(), "keep-id".into());
    }
    let created = request(engine, Method::POST, "/containers/create", &create).await?;
    let id = created.get("Id").and_then(Value::as_str).unwrap_or_default();
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(EngineError::NoContainerId);
    }
    let running = async {
        request(engine, Method::POST, &format!("/containers/{id}/start"), &Value::Null).await?;
        request(engine, Method::POST, &format!("/containers/{id}/wait"), &Value::Null).await
    };
    let ended = tokio::select! {
        ended = running => ended,
        () = stop.cancelled() => Ok(Value::Null),
    };
    // The container removes itself when its program ends. This also covers a failed start and a stop.
    let _ = request(engine, Method::DELETE, &format!("/containers/{id}?force=true&v=true"), &Value::Null).await;
    let ended = ended?;
    if stop.is_cancelled() {
        return Ok(());
    }
    Err(EngineError::Ended(ended.get("StatusCode").and_then(Value::as_i64).unwrap_or(-1)))
}

/// Sends a request on a new connection. A response with an error status is an error.
async fn request(engine: &Path, method: Method, path: &str, body: &Value) -> Result<Value, EngineError> {
    let stream =
        UnixStream::connect(engine).await.map_err(|source| EngineError::Connect { path: path.to_owned(), source })?;
    let (status, value) = exchange(stream, method, path, body).await?;
    if status.is_success() || status == StatusCode::NOT_MODIFIED {
        return Ok(value);
    }
    let message = value.get("message").and_then(Value::as_str).unwrap_or("no reason given").to_owned();
    Err(EngineError::Refused { path: path.to_owned(), status, message })
}

/// Sends a request on this connection and returns the response. A body that is not JSON becomes `null`.
///
/// # Errors
///
/// If the response is not HTTP, or larger than [`MAX_RESPONSE`].
pub(super) async fn exchange(
    stream: UnixStream,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<(StatusCode, Value), EngineError> {
    let failed = |error: &dyn Display| EngineError::Http { path: path.to_owned(), message: error.to_string() };
    let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(body))
        .map_err(|error| failed(&error))?;
    let response = http_client::exchange(stream, request, MAX_RESPONSE).await.map_err(|error| failed(&error))?;
    Ok((response.status(), serde_json::from_slice(response.body()).unwrap_or_default()))
}

#[cfg(test)]
mod tests;
