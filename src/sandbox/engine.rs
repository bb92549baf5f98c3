//! The backend `docker`: a container of an engine around the session's resident.
//!
//! Decides the container: what it sees, may and is. The engine is spoken to over the HTTP API on its Unix socket, which podman
//! has too. Must never give a container a network, a capability or a path that the plan does not name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::backends::{Machine, PATIENCE, add_to_reads, missing_inside, near};
use super::kernel::Enforcement;
use super::outside::{Orders, Start};
use super::plan::Plan;
use super::policy::SandboxPolicy;
use super::resident;
use crate::places::SessionPlaces;
use crate::processes::SECOND_MARK;

/// Where engines listen.
const ENGINE: &str = "/var/run/docker.sock";

/// The most memory of a session's programs together.
const MEMORY: u64 = 2 << 30;

/// The most that is read of an answer.
const MAX_ANSWER: usize = 1024 * 1024;

/// What an engine puts into a container itself.
const ITS_OWN: &[&str] = &["/etc/hosts", "/etc/resolv.conf"];

fn socket_of(policy: &SandboxPolicy) -> &Path {
    policy.backends.docker_socket.as_deref().unwrap_or(Path::new(ENGINE))
}

/// Whether there is an engine, and the image in it.
pub(super) async fn probe(machine: &Machine, policy: &SandboxPolicy) -> Result<Enforcement, String> {
    let socket = socket_of(policy);
    let stream =
        UnixStream::connect(socket).await.map_err(|error| format!("no engine at `{}`: {error}", socket.display()))?;
    let image = policy
        .backends
        .docker_image
        .as_deref()
        .ok_or("an engine is there; `sandbox.backends.docker.image` must name an image of it")?;
    if !image.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/:.-_@".contains(&byte)) {
        return Err(format!("`{image}` is no name of an image"));
    }
    let path = format!("/images/{image}/json");
    let asked = tokio::time::timeout(PATIENCE, exchange(stream, Method::GET, &path, &Value::Null)).await;
    match asked.map(|answer| answer.map(|(status, _)| status)) {
        Ok(Ok(StatusCode::OK)) => Ok(Enforcement::without(missing_inside(machine.kernel))),
        Ok(Ok(StatusCode::NOT_FOUND)) => {
            Err(format!("the engine at `{}` has no image `{image}`: pull it", socket.display()))
        }
        Ok(_) => Err(format!("what listens at `{}` is no engine that answers", socket.display())),
        Err(_) => {
            Err(format!("what listens at `{}` does not answer within {} s", socket.display(), PATIENCE.as_secs()))
        }
    }
}

/// What stands outside.
pub(super) fn orders(
    machine: &Machine,
    policy: &SandboxPolicy,
    plan: &Plan,
    places: &SessionPlaces,
) -> io::Result<Orders> {
    let user = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    fs::create_dir_all(empty_of(places))?;
    let create = container(machine, policy, plan, places, user)?;
    let engine = socket_of(policy).to_owned();
    Ok(Orders { sockets: places.sockets.clone(), port: plan.port(), start: Start::Container { engine, create } })
}

/// A folder in which nothing is, to cover others with.
fn empty_of(places: &SessionPlaces) -> PathBuf {
    places.outside().join("empty")
}

/// The request that makes the container.
fn container(
    machine: &Machine,
    policy: &SandboxPolicy,
    plan: &Plan,
    places: &SessionPlaces,
    (user, group): (u32, u32),
) -> io::Result<Value> {
    let inside = resident::Orders::new(machine, plan, places);
    let mut mounts = Vec::new();
    let mut bind = |source: &Path, target: &Path, read_only: bool| {
        mounts.push(json!({ "Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only }));
    };
    let mut read: Vec<PathBuf> = Vec::new();
    for path in plan.read.iter().chain(&plan.execute).chain(&machine.needs).chain([&machine.own]) {
        if !ITS_OWN.iter().any(|own| path == Path::new(own)) {
            add_to_reads(&mut read, path);
        }
    }
    for path in &read {
        bind(path, path, true);
    }
    for path in plan.write.iter().chain(&plan.sockets).filter(|path| near(path)) {
        bind(path, path, false);
    }
    for path in plan.fixed.iter().filter(|path| near(path)) {
        bind(path, path, true);
    }
    // Not by a file system in memory: there are engines that copy into it what it covers.
    let empty = empty_of(places);
    for path in plan.hidden.iter().filter(|path| near(path)) {
        bind(if path.is_dir() { &empty } else { Path::new("/dev/null") }, path, true);
    }
    Ok(json!({
        "Image": policy.backends.docker_image,
        "Entrypoint": [machine.own],
        "Cmd": [resident::SUBCOMMAND, serde_json::to_string(&inside)?],
        "Env": [format!("{SECOND_MARK}={}", places.tmp().display())],
        "User": format!("{user}:{group}"),
        "WorkingDir": "/",
        "Labels": { "browser-shell.session": places.key },
        "HostConfig": {
            "AutoRemove": true,
            "NetworkMode": "none",
            "ReadonlyRootfs": true,
            "CapDrop": ["ALL"],
            // Each program in it is under our own filter, which allows less than the engine's, and Landlock, which that may not
            // know.
            "SecurityOpt": ["no-new-privileges", "seccomp=unconfined"],
            "PidsLimit": plan.limits.map(|limits| limits.max_processes),
            "Memory": MEMORY,
            "LogConfig": { "Type": "none" },
            "Mounts": mounts,
        },
    }))
}

/// Makes the container, stands by it to its end, and has it gone then, or when the token says so.
pub(super) async fn run(engine: &Path, create: &Value, stop: &CancellationToken) -> io::Result<()> {
    let mut create = create.clone();
    let info = ask(engine, Method::GET, "/info", &Value::Null).await?;
    let rootless = info.get("SecurityOptions").and_then(Value::as_array);
    let rootless = rootless.is_some_and(|options| options.iter().any(|option| option == "name=rootless"));
    if let Some(host) = create.get_mut("HostConfig").filter(|_| rootless).and_then(Value::as_object_mut) {
        // Without it, the user's number inside would be another one outside.
        host.insert("UsernsMode".to_owned(), "keep-id".into());
    }
    let made = ask(engine, Method::POST, "/containers/create", &create).await?;
    let id = made.get("Id").and_then(Value::as_str).unwrap_or_default();
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(io::Error::other("the engine made a container and did not name it"));
    }
    let ended = async {
        ask(engine, Method::POST, &format!("/containers/{id}/start"), &Value::Null).await?;
        ask(engine, Method::POST, &format!("/containers/{id}/wait"), &Value::Null).await
    };
    let ended = tokio::select! {
        ended = ended => ended,
        () = stop.cancelled() => Ok(Value::Null),
    };
    // It removes itself when its program ends; where that has not begun, or must not be waited for, it is told to.
    let _ = ask(engine, Method::DELETE, &format!("/containers/{id}?force=true&v=true"), &Value::Null).await;
    let ended = ended?;
    if stop.is_cancelled() {
        return Ok(());
    }
    let code = ended.get("StatusCode").and_then(Value::as_i64).unwrap_or(-1);
    Err(io::Error::other(format!("the container ended with {code}")))
}

/// One request to the engine; what it says where it refuses is the error.
async fn ask(engine: &Path, method: Method, path: &str, body: &Value) -> io::Result<Value> {
    let named = |error: &dyn std::fmt::Display| io::Error::other(format!("the engine, {path}: {error}"));
    let stream = UnixStream::connect(engine).await.map_err(|error| named(&error))?;
    let (status, value) = exchange(stream, method, path, body).await.map_err(|error| named(&error))?;
    if status.is_success() || status == StatusCode::NOT_MODIFIED {
        return Ok(value);
    }
    let said = value.get("message").and_then(Value::as_str).unwrap_or("it does not say why");
    Err(named(&format!("{status}: {said}")))
}

/// A request on a connection of its own, and the answer; a body that is no JSON is none.
async fn exchange(stream: UnixStream, method: Method, path: &str, body: &Value) -> io::Result<(StatusCode, Value)> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(body))
        .map_err(io::Error::other)?;
    let exchange = async {
        let answer = sender.send_request(request).await.map_err(io::Error::other)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await.map_err(io::Error::other)?;
        Ok((status, serde_json::from_slice(&body.to_bytes()).unwrap_or_default()))
    };
    let drive = async {
        // What is wrong with the connection is seen by who uses it.
        let _ = connection.await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        answer = exchange => answer,
        () = drive => Err(io::Error::other("it hung up")),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::policy::file::parse;
    use crate::sandbox::policy::Limits;

    fn machine() -> Machine {
        Machine::with(6, "/etc/passwd")
    }

    fn policy(socket: &Path) -> SandboxPolicy {
        let text = format!(
            r#"{{"sandbox":{{"backend":"docker","backends":{{"docker":{{"image":"some/image:1","socket":"{}"}}}}}}}}"#,
            socket.display()
        );
        parse(&text).expect("valid").sandbox
    }

    #[test]
    fn spec_5_2_a_container_gets_the_plan_no_network_and_no_rights() {
        let root = tempfile::tempdir().expect("a folder");
        let below = |name: &str| {
            let path = root.path().canonicalize().expect("there").join(name);
            fs::create_dir_all(&path).expect("made");
            path
        };
        let plan = Plan {
            read: vec![
                below("read"),
                below("read/below"),
                "/proc/meminfo".into(),
                "/etc/hosts".into(),
                "/nowhere".into(),
            ],
            write: vec![below("write"), "/nowhere/else".into()],
            sockets: vec![below("sockets")],
            hidden: vec![below("read/hidden")],
            fixed: vec![below("write/fixed")],
            connect: vec![9222],
            limits: Some(Limits::default()),
            ..Plan::default()
        };
        let places = SessionPlaces {
            key: "s".to_owned(),
            sockets: below("sockets"),
            private: below("private"),
            files: below("files"),
        };
        let asked = container(&machine(), &policy(Path::new("/e")), &plan, &places, (1000, 100)).expect("JSON");
        let text = serde_json::to_string_pretty(&asked).expect("JSON");
        insta::assert_snapshot!(
            text.replace(root.path().canonicalize().expect("there").to_str().expect("text"), "ROOT")
        );
    }

    #[tokio::test]
    async fn an_engine_that_is_not_there_or_lacks_the_image_is_said() {
        let root = tempfile::tempdir().expect("a folder");
        let socket = root.path().join("e");
        let (machine, policy) = (machine(), policy(&socket));
        assert!(probe(&machine, &policy).await.expect_err("refused").starts_with("no engine at `"));
        let listener = tokio::net::UnixListener::bind(&socket).expect("bound");
        for (answer, said) in [
            ("HTTP/1.1 404 Not Found\r\n\r\n", Some("has no image `some/image:1`")),
            ("SSH-2.0-x\r\n", Some("is no engine that answers")),
            ("HTTP/1.1 500 Oh\r\n\r\n{}", Some("is no engine that answers")),
            ("", Some("is no engine that answers")),
            ("HTTP/1.1 200 OK\r\n\r\n{}", None),
        ] {
            let stand_in = async {
                let (mut stream, _) = listener.accept().await.expect("asked");
                let mut head = [0; 512];
                let count = stream.read(&mut head).await.expect("read");
                assert!(head[..count].starts_with(b"GET /images/some/image:1/json HTTP/1.1\r\n"));
                stream.write_all(answer.as_bytes()).await.expect("answered");
            };
            let (found, ()) = tokio::join!(probe(&machine, &policy), stand_in);
            let why = found.err();
            assert_eq!(
                why.as_ref().map(|why| why.contains(said.unwrap_or("?"))),
                said.map(|_| true),
                "{answer}: {why:?}"
            );
        }
    }

    /// The requests and their order, against a stand-in that answers as an engine does.
    #[tokio::test]
    async fn a_container_is_made_started_waited_for_and_removed() {
        for stopped in [false, true] {
            let root = tempfile::tempdir().expect("a folder");
            let socket = root.path().join("e");
            let listener = tokio::net::UnixListener::bind(&socket).expect("bound");
            let stop = CancellationToken::new();
            let (heard, mut lines) = tokio::sync::mpsc::unbounded_channel();
            let stand_in = tokio::spawn({
                let stop = stop.clone();
                async move {
                    let mut open = Vec::new();
                    while let Ok((mut stream, _)) = listener.accept().await {
                        let mut asked = vec![0; 4096];
                        let count = stream.read(&mut asked).await.expect("read");
                        let text = String::from_utf8_lossy(&asked[..count]).into_owned();
                        let line = text.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
                        let body = match line.as_str() {
                            "GET /info" => r#"{"SecurityOptions":[]}"#,
                            "POST /containers/create" => r#"{"Id":"abc"}"#,
                            "POST /containers/abc/wait" if stopped => {
                                stop.cancel();
                                open.push(stream);
                                heard.send(line).expect("heard");
                                continue;
                            }
                            "POST /containers/abc/wait" => r#"{"StatusCode":7}"#,
                            _ => "{}",
                        };
                        heard.send(line).expect("heard");
                        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                        stream.write_all(answer.as_bytes()).await.expect("answered");
                    }
                }
            });
            let result = run(&socket, &json!({ "HostConfig": {} }), &stop).await;
            assert_eq!(result.is_ok(), stopped, "{result:?}");
            stand_in.abort();
            let mut all = Vec::new();
            while let Ok(line) = lines.try_recv() {
                all.push(line);
            }
            let expected = [
                "GET /info",
                "POST /containers/create",
                "POST /containers/abc/start",
                "POST /containers/abc/wait",
                "DELETE /containers/abc?force=true&v=true",
            ];
            assert_eq!(all, expected);
        }
    }
}
