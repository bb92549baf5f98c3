//! Backend `docker`: a container of an engine, with the sandbox init in it, and the client of the engine.
//!
//! The client speaks HTTP on the engine's Unix socket. Docker and podman have the same API. Five small requests need neither a
//! pool of connections nor typed models of the whole API.
//!
//! Invariants: the container has no network, no capability, and no path that the plan does not name.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use crate::sandbox::container::config::{InitConfig, RelayConfig, RelayStart};
use crate::sandbox::container::init;
use crate::sandbox::host::{Enforcement, PROBE_TIMEOUT, SandboxHost, add_readable, is_mountable, missing_inside};
use crate::sandbox::plan::Plan;
use browser_shell_core::policy::sandbox::SandboxPolicy;
use browser_shell_system::os::processes::SECOND_MARKER;
use browser_shell_system::os::{connections, describe};
use browser_shell_system::paths::SessionPaths;

/// The default socket of an engine.
const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// Maximum memory of all programs of a session, in bytes.
const MAX_MEMORY: u64 = 2 << 30;

/// Files that the engine itself puts into a container.
const ENGINE_FILES: &[&str] = &["/etc/hosts", "/etc/resolv.conf"];

/// The largest response that is read, in bytes.
const MAX_RESPONSE: usize = 1024 * 1024;

/// Reason why the container engine cannot be used.
#[derive(Debug, Error)]
pub enum DockerError {
    /// Nothing listens at the socket.
    #[error("no engine at `{}`: {}", socket.display(), describe(source))]
    NoEngine {
        /// The socket.
        socket: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The policy names no image.
    #[error("no image is configured: set `sandbox.backends.docker.image` to an image of the engine")]
    NoImageName,
    /// The policy names an invalid image.
    #[error("`{0}` is not a valid image name")]
    InvalidImageName(String),
    /// The engine does not have the image.
    #[error("the engine at `{}` has no image `{image}`: pull it", socket.display())]
    NoImage {
        /// The socket.
        socket: PathBuf,
        /// The image.
        image: String,
    },
    /// The answer is not an engine's.
    #[error("the program at `{}` does not answer as a container engine", .0.display())]
    NotAnEngine(PathBuf),
    /// No answer arrived in time.
    #[error("the program at `{}` does not answer within {} s", .0.display(), PROBE_TIMEOUT.as_secs())]
    TimedOut(PathBuf),
    /// A file cannot be written.
    #[error("cannot prepare the container: {0}")]
    Prepare(#[from] io::Error),
    /// The configuration cannot be written as JSON.
    #[error("cannot prepare the container: {0}")]
    Json(#[from] serde_json::Error),
}

fn socket_path(policy: &SandboxPolicy) -> &Path {
    policy.backends.docker_socket.as_deref().unwrap_or(Path::new(DEFAULT_SOCKET))
}

/// Checks that there is an engine, and the image in it.
///
/// # Errors
///
/// Returns what is missing.
pub async fn probe(host: &SandboxHost, policy: &SandboxPolicy, plan: &Plan) -> Result<Enforcement, DockerError> {
    let path = socket_path(policy);
    let socket = || path.to_owned();
    let stream =
        UnixStream::connect(path).await.map_err(|source| DockerError::NoEngine { socket: socket(), source })?;
    let image = policy.backends.docker_image.as_deref().ok_or(DockerError::NoImageName)?;
    if !image.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/:.-_@".contains(&byte)) {
        return Err(DockerError::InvalidImageName(image.to_owned()));
    }
    let url = format!("/images/{image}/json");
    match tokio::time::timeout(PROBE_TIMEOUT, exchange(stream, Method::GET, &url, &Value::Null)).await {
        Ok(Ok((StatusCode::OK, _))) => Ok(Enforcement::without(missing_inside(host.kernel, policy, plan))),
        Ok(Ok((StatusCode::NOT_FOUND, _))) => Err(DockerError::NoImage { socket: socket(), image: image.to_owned() }),
        Ok(_) => Err(DockerError::NotAnEngine(socket())),
        Err(_) => Err(DockerError::TimedOut(socket())),
    }
}

/// Returns the configuration of the host relay, which creates the container.
///
/// # Errors
///
/// Returns an error if the folder cannot be created, or the request cannot be written.
pub fn relay_config(
    host: &SandboxHost,
    policy: &SandboxPolicy,
    plan: &Plan,
    paths: &SessionPaths,
) -> Result<RelayConfig, DockerError> {
    let user = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    fs::create_dir_all(empty_folder(paths))?;
    let create = create_request(host, policy, plan, paths, user)?;
    let engine = socket_path(policy).to_owned();
    let start = RelayStart::Container { engine, create };
    Ok(RelayConfig { sockets: paths.sockets.clone(), port: plan.endpoint, start })
}

/// Returns the empty folder that covers masked ones.
fn empty_folder(paths: &SessionPaths) -> PathBuf {
    paths.relay_folder().join("empty")
}

/// Returns the request that creates the container.
fn create_request(
    host: &SandboxHost,
    policy: &SandboxPolicy,
    plan: &Plan,
    paths: &SessionPaths,
    (user, group): (u32, u32),
) -> Result<Value, serde_json::Error> {
    let init_config = InitConfig::new(host, plan, paths);
    Ok(json!({
        "Image": policy.backends.docker_image,
        "Entrypoint": [host.executable],
        "Cmd": [init::SUBCOMMAND, serde_json::to_string(&init_config)?],
        "Env": [format!("{SECOND_MARKER}={}", paths.tmp().display())],
        "User": format!("{user}:{group}"),
        "WorkingDir": "/",
        "Labels": { "browser-shell.session": paths.key },
        "HostConfig": {
            "AutoRemove": true,
            "NetworkMode": "none",
            "ReadonlyRootfs": true,
            "CapDrop": ["ALL"],
            // Each program in it runs under this program's filter, which allows less than the engine's, and under Landlock,
            // which the engine's may not know.
            "SecurityOpt": ["no-new-privileges", "seccomp=unconfined"],
            "PidsLimit": plan.limits.map(|limits| limits.max_processes),
            "Memory": MAX_MEMORY,
            "LogConfig": { "Type": "none" },
            "Mounts": mounts(host, plan, paths),
        },
    }))
}

/// Returns the mounts that make up the container's file view.
fn mounts(host: &SandboxHost, plan: &Plan, paths: &SessionPaths) -> Vec<Value> {
    let mut mounts = Vec::new();
    let mut bind = |source: &Path, target: &Path, read_only: bool| {
        mounts.push(json!({ "Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only }));
    };
    let mut readable: Vec<PathBuf> = Vec::new();
    for path in plan.read.iter().chain(&plan.execute).chain(&host.loader_files).chain([&host.executable]) {
        if !ENGINE_FILES.iter().any(|file| path == Path::new(file)) {
            add_readable(&mut readable, path);
        }
    }
    for path in &readable {
        bind(path, path, true);
    }
    for path in plan.write.iter().chain(&plan.sockets).filter(|path| is_mountable(path)) {
        bind(path, path, false);
    }
    for path in plan.read_only.iter().filter(|path| is_mountable(path)) {
        bind(path, path, true);
    }
    // Not a tmpfs: some engines copy the covered files into it.
    let empty = empty_folder(paths);
    for path in plan.masked.iter().filter(|path| is_mountable(path)) {
        bind(if path.is_dir() { &empty } else { Path::new("/dev/null") }, path, true);
    }
    mounts
}

/// Error of a request to an engine, or of a container.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The socket cannot be connected to.
    #[error("cannot connect to the container engine for `{path}`: {source}")]
    Connect {
        /// The path of the request.
        path: String,
        /// The system's error.
        source: io::Error,
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
async fn exchange(
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
    let response = connections::exchange(stream, request, MAX_RESPONSE).await.map_err(|error| failed(&error))?;
    Ok((response.status(), serde_json::from_slice(response.body()).unwrap_or_default()))
}

#[cfg(test)]
mod tests;
