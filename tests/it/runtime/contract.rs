//! Contract tests of the runtime, over HTTP alone. These tests and those in `validation` hold for any runtime,
//! whatever its mode, pages and policy. `tests/runtime/prove URL` runs them.
//!
//! They open only about:blank, write no file, and delete the session that they used.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    ops::Deref,
};

use serde_json::{Value, json};

use super::{
    client::{ExecOutcome, HttpClient, HttpResponse, SESSION},
    server::{Runtime, Setup},
};

/// The server under test: the one that the environment names, or a server that the test starts.
#[derive(Debug)]
pub(super) enum Target {
    External(HttpClient),
    Started(Box<Runtime>),
}

impl Target {
    pub(super) fn from_env() -> Self {
        match std::env::var("BROWSER_SHELL_TEST_BASE_URL") {
            Ok(base) => Self::External(HttpClient::new(&base, std::env::var("BROWSER_SHELL_TEST_TOKEN").ok())),
            Err(_) => Self::Started(Box::new(Setup::stand_in().start())),
        }
    }
}

impl Deref for Target {
    type Target = HttpClient;

    fn deref(&self) -> &HttpClient {
        match self {
            Self::External(client) => client,
            Self::Started(runtime) => runtime,
        }
    }
}

/// Returns true if the server has the profile `compat`, which accepts more spellings of a request.
pub(super) fn is_lenient(target: &Target) -> bool {
    let document = target.schemas().document();
    let batch = &document["paths"]["/exec_batch"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    let pointer = batch["$ref"].as_str().map(|pointer| pointer.trim_start_matches('#'));
    let schema = pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(batch);
    schema["properties"]["commands"]["maxItems"] != json!(100)
}

/// Returns the sorted member names of an object.
pub(super) fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<_> =
        value.as_object().unwrap_or_else(|| panic!("not an object: {value}")).keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn exec_returns_stdout_stderr_and_exit_code() {
    let target = Target::from_env();
    for cmd in ["open about:blank", "snapshot"] {
        let answer =
            target.post("/exec", &json!({"cmd": cmd, "sandbox_id": SESSION, "timeout": 60})).expect_status(200).json();
        assert_eq!(members(&answer), ["exit_code", "stderr", "stdout"]);
        ExecOutcome::read(&answer).ok();
    }
    // Unknown fields are ignored, and null is the same as an absent field.
    let answer = target
        .exec_with(&json!({"cmd": "snapshot", "sandbox_id": SESSION, "cargo_id": null, "timeout": 30.0, "later": [1]}));
    assert!(!answer.ok().stdout.is_empty());
    target.delete(&format!("/sessions/{SESSION}")).expect_status(200);
}

#[test]
fn exec_refusal_is_reply_with_reason() {
    let target = Target::from_env();
    for (cmd, exit, code) in [
        ("eval 1", 64, "subcommand-forbidden"),
        ("no-such-thing", 64, "subcommand-unknown"),
        ("open", 64, "argument-missing"),
        ("open about:blank about:blank", 64, "argument-unexpected"),
        ("click #a --nothing", 64, "flag-unknown"),
        ("--session other open about:blank", 64, "flag-global"),
        ("open about:blank --cdp=1", 64, "flag-global"),
        ("open file:///etc/hostname", 77, "scheme-not-allowed"),
        ("open http://someone@example.com/", 77, "user-info-not-allowed"),
        ("", 64, ""),
        (" \t ", 64, ""),
        ("open \"about:blank", 64, ""),
        ("open 'about:blank", 64, ""),
        ("open about:blank\\", 64, ""),
    ] {
        let answer = target.exec(cmd).fails_with(exit);
        assert!(answer.stderr.starts_with(code), "{cmd}: {answer:?}");
        assert_eq!(answer.stdout, "", "{cmd}");
    }
    target.exec("open about:blank").ok();
    target.delete(&format!("/sessions/{SESSION}")).expect_status(200);
}

#[test]
fn exec_timeout_ends_call_and_next_call_works() {
    let target = Target::from_env();
    target.exec("open about:blank").ok();
    let answer = target.exec_with(&json!({"cmd": "wait 20000", "timeout": 1, "sandbox_id": SESSION}));
    // -1 in single mode, 124 in shared mode.
    assert!([-1, 124].contains(&answer.code), "{answer:?}");
    assert!(answer.stderr.contains("timed out"), "{answer:?}");
    target.exec("open about:blank").ok();
    target.delete(&format!("/sessions/{SESSION}")).expect_status(200);
}

#[test]
fn batch_runs_commands_in_order() {
    let target = Target::from_env();
    let commands = ["open about:blank", "  snapshot ", "wait 1"];
    let batch = target.batch(&json!({"commands": commands, "sandbox_id": SESSION}));
    assert_eq!(members(&batch), ["completed_steps", "duration_ms", "results", "success", "total_steps"]);
    assert_eq!(
        (&batch["total_steps"], &batch["completed_steps"], &batch["success"]),
        (&json!(3), &json!(3), &json!(true))
    );
    let mut spent = 0;
    for (index, (step, cmd)) in batch["results"].as_array().unwrap().iter().zip(commands).enumerate() {
        assert_eq!(members(step), ["cmd", "duration_ms", "exit_code", "stderr", "stdout", "step_index"]);
        assert_eq!(
            (&step["cmd"], &step["step_index"]),
            (&json!(cmd), &json!(index)),
            "the command must be returned unchanged"
        );
        ExecOutcome::read(step).ok();
        spent += step["duration_ms"].as_u64().expect("duration must be whole milliseconds");
    }
    assert!(batch["duration_ms"].as_u64().unwrap() + 3 >= spent, "a step cannot take longer than the batch: {batch}");
    target.delete(&format!("/sessions/{SESSION}")).expect_status(200);
}

#[test]
fn batch_stops_at_first_failure_by_default() {
    let target = Target::from_env();
    let commands = ["open about:blank", "no-such-thing", "wait 1"];
    for (stop, completed) in [(Value::Null, 2), (json!(true), 2), (json!(false), 3)] {
        let mut body = json!({"commands": commands, "sandbox_id": SESSION});
        if !stop.is_null() {
            body["stop_on_error"] = stop;
        }
        let batch = target.batch(&body);
        let codes: Vec<_> =
            batch["results"].as_array().unwrap().iter().map(|step| step["exit_code"].as_i64().unwrap()).collect();
        assert_eq!(codes, [0, 64, 0][..completed], "{batch}");
        assert_eq!(batch["completed_steps"], json!(completed));
        assert_eq!((&batch["total_steps"], &batch["success"]), (&json!(3), &json!(false)));
    }
    target.delete(&format!("/sessions/{SESSION}")).expect_status(200);
}

#[test]
fn batch_timeout_covers_all_steps() {
    let target = Target::from_env();
    target.exec("open about:blank").ok();
    let body =
        json!({"commands": ["wait 20000", "snapshot"], "timeout": 1, "stop_on_error": false, "sandbox_id": SESSION});
    let batch = target.batch(&body);
    assert_eq!(
        (&batch["total_steps"], &batch["completed_steps"], &batch["success"]),
        (&json!(2), &json!(1), &json!(false))
    );
    let steps = batch["results"].as_array().unwrap();
    assert_eq!(steps.len(), 1, "no step may start after the timeout: {batch}");
    assert_ne!(steps[0]["exit_code"], json!(0));
    assert!(steps[0]["stderr"].as_str().unwrap().contains("timed out"), "{batch}");
    target.delete(&format!("/sessions/{SESSION}")).expect_status(200);
}

#[test]
fn health_and_meta_match_contract() {
    let target = Target::from_env();
    let (status, health) = target.health();
    assert_eq!((status, &health["status"]), (200, &json!("healthy")));
    assert_eq!(members(&health), ["browser_active", "browser_ready", "session", "status", "version"]);
    assert!(health["browser_active"].is_boolean() && health["browser_ready"].is_boolean(), "{health}");
    assert!(!health["session"].as_str().unwrap().is_empty() && !health["version"].as_str().unwrap().is_empty());

    let meta = target.get("/meta").expect_status(200).json();
    assert_eq!(members(&meta), ["built_in_skills", "capabilities", "runtime", "workspace"]);
    assert_eq!(members(&meta["runtime"]), ["api_version", "name", "version"]);
    assert_eq!((&meta["runtime"]["name"], &meta["runtime"]["api_version"]), (&json!("gull"), &json!("v1")));
    assert_eq!(meta["runtime"]["version"], health["version"]);
    assert!(meta["workspace"]["mount_path"].as_str().unwrap().starts_with('/'));
    assert_eq!(meta["capabilities"], json!({"browser": {"version": "1.0"}}));
    for skill in meta["built_in_skills"].as_array().unwrap() {
        assert_eq!(members(skill), ["description", "name", "path"]);
        let path = format!("/workspace/skills/{}/SKILL.md", skill["name"].as_str().unwrap());
        assert_eq!(skill["path"], json!(path));
    }
}

#[test]
fn deleted_session_ends_and_can_be_recreated() {
    let target = Target::from_env();
    let gone = json!({"sandbox_id": SESSION, "destroyed": true});
    let delete = || target.delete(&format!("/sessions/{SESSION}")).expect_status(200).json();
    assert_eq!(delete(), gone, "deleting an absent session must succeed");
    target.exec("open about:blank").ok();
    assert_eq!(delete(), gone);
    target.exec("open about:blank").ok();
    assert_eq!(delete(), gone);
    let dotted = target.delete("/sessions/a.b").status;
    assert_eq!(dotted, if is_lenient(&target) { 200 } else { 422 });
    for wrong in [".a", "%2e%2e", "a%2Fb", "a%20b", "a%00", "%C3%A9", "%ff", &"x".repeat(129)] {
        let problems = target.delete(&format!("/sessions/{wrong}")).expect_status(422).json()["detail"].clone();
        assert_eq!(problems[0]["loc"], json!(["path", "sandbox_id"]), "{wrong}");
    }
    target.delete(&format!("/sessions/{}", "x".repeat(128))).expect_status(200);
}

#[test]
fn unknown_route_is_404_and_wrong_method_is_405() {
    let target = Target::from_env();
    for path in [
        "/",
        "/exec/",
        "/exec/x",
        "/EXEC",
        "/docs",
        "/sessions",
        "/sessions/",
        "/sessions/a/b",
        "/healthz",
        "/.",
        "/exec%2f",
        "//exec",
    ] {
        assert_eq!(target.get(path).expect_status(404).json(), json!({"detail": "Not Found"}), "{path}");
    }
    for (method, path) in [
        ("GET", "/exec"),
        ("PUT", "/exec"),
        ("GET", "/exec_batch"),
        ("DELETE", "/exec_batch"),
        ("POST", "/health"),
        ("DELETE", "/meta"),
        ("GET", "/sessions/a"),
        ("POST", "/sessions/a"),
        ("POST", "/metrics"),
        ("PATCH", "/openapi.json"),
    ] {
        let reply = target.request(method, path, &[], "").expect_status(405);
        assert_eq!(reply.json(), json!({"detail": "Method Not Allowed"}), "{method} {path}");
    }
    target.request("POST", "/health", &["Content-Type: application/json"], "{}").expect_status(405);
}

#[test]
fn body_must_be_json_within_size_limit() {
    let target = Target::from_env();
    let body = json!({"cmd": "no-such-thing", "sandbox_id": SESSION}).to_string();
    let send = |headers: &[&str], body: &str| target.request("POST", "/exec", headers, body);
    for wrong in [
        "Content-Type: text/plain",
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: multipart/form-data; boundary=x",
    ] {
        assert!(!send(&[wrong], &body).expect_status(415).detail().is_empty(), "{wrong}");
    }
    let without_type = send(&["X-Nothing: 1"], &body);
    without_type.expect_status(if is_lenient(&target) { 200 } else { 415 });
    for right in ["Content-Type: application/json", "content-type: Application/JSON; charset=utf-8"] {
        assert_eq!(ExecOutcome::read(&send(&[right], &body).expect_status(200).json()).code, 64, "control: {right}");
    }
    let padded = |length: usize| format!("{body}{}", " ".repeat(length - body.len()));
    let mib = 1024 * 1024;
    send(&["Content-Type: application/json"], &padded(mib)).expect_status(200);
    for path in ["/exec", "/exec_batch"] {
        let reply = target.request("POST", path, &["Content-Type: application/json"], &padded(mib + 1));
        assert!(!reply.expect_status(413).detail().is_empty());
    }
}

#[test]
fn openapi_document_is_complete() {
    let target = Target::from_env();
    let routes = target.schemas().routes();
    for route in [
        "POST /exec",
        "POST /exec_batch",
        "GET /health",
        "GET /meta",
        "DELETE /sessions/{sandbox_id}",
        "GET /metrics",
        "GET /openapi.json",
        "POST /mcp",
    ] {
        assert!(routes.contains(route), "{route} must be in {routes:?}");
    }
    // Every listed route exists.
    for route in &routes {
        let (method, path) = route.split_once(' ').unwrap();
        let reply = target.send(&target.request_bytes(method, &path.replace("{sandbox_id}", "a"), &[], "")).unwrap();
        assert!(![404, 405].contains(&reply.status), "{route}: {reply:?}");
    }
    // The document describes every field of a request body.
    let document = target.schemas().document();
    for (path, fields) in [
        ("/exec", ["cmd", "timeout", "sandbox_id", "cargo_id"].as_slice()),
        ("/exec_batch", &["commands", "timeout", "stop_on_error", "sandbox_id", "cargo_id"]),
    ] {
        let mut schema = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        if let Some(pointer) = schema["$ref"].as_str() {
            schema = document.pointer(pointer.trim_start_matches('#')).unwrap();
        }
        for field in fields {
            assert!(schema["properties"].get(field).is_some(), "{path} {field}: {schema}");
        }
    }
}

#[test]
fn connection_is_reused_for_next_request() {
    let target = Target::from_env();
    let mut stream = target.connect();
    let mut read = BufReader::new(stream.try_clone().unwrap());
    let body = json!({"cmd": "no-such-thing", "sandbox_id": SESSION}).to_string();
    let request = |method: &str, path: &str, line: &str, body: &str| {
        let bytes = target.request_bytes(method, path, &["Content-Type: application/json", line], body);
        // Most clients send no Connection header.
        String::from_utf8(bytes).unwrap().replace("Connection: close\r\n", "")
    };
    // One request after another, then two before the first response is read.
    let mut answers = Vec::new();
    for requests in [
        request("GET", "/health", "X-Number: 1", ""),
        request("POST", "/exec", "X-Number: 2", &body),
        request("GET", "/no-such-route", "X-Number: 3", "") + &request("POST", "/exec", "X-Number: 4", &body),
    ] {
        stream.write_all(requests.as_bytes()).unwrap();
        for _ in requests.match_indices("X-Number") {
            answers.push(next_answer(&mut read));
        }
    }
    assert_eq!(answers.iter().map(|(status, _)| *status).collect::<Vec<_>>(), [200, 200, 404, 200]);
    assert!(answers[3].1.contains("subcommand-unknown"), "{answers:?}");
    // A client that waits for `100 Continue` before it sends the body.
    let asking = request("POST", "/exec", "Expect: 100-continue", &body);
    let (head, body) = asking.split_once("\r\n\r\n").unwrap();
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    let (status, _) = next_answer(&mut read);
    assert_eq!(status, 100);
    stream.write_all(body.as_bytes()).unwrap();
    assert_eq!(next_answer(&mut read).0, 200);
}

/// Reads the status and body of the next response, by its Content-Length.
fn next_answer(read: &mut impl BufRead) -> (u16, String) {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(read.read_line(&mut line).unwrap(), 0, "the connection was closed after {lines:?}");
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.to_ascii_lowercase());
    }
    let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
    let length = lines.iter().find_map(|line| line.strip_prefix("content-length:")).map_or("0", str::trim);
    let mut body = vec![0; length.parse().unwrap()];
    read.read_exact(&mut body).unwrap();
    (status, String::from_utf8(body).unwrap())
}

/// Parses metrics and returns each sample with its type. Fails unless the text is in the Prometheus or `OpenMetrics`
/// format.
pub(super) fn samples(reply: &HttpResponse) -> BTreeMap<String, (String, f64)> {
    let kind = reply.header("content-type").unwrap();
    assert!(["text/plain", "application/openmetrics-text"].iter().any(|known| kind.starts_with(known)), "{reply:?}");
    // OpenMetrics has an end marker, so a truncated response is invalid.
    assert!(reply.body.ends_with(if kind.starts_with("text") { "\n" } else { "\n# EOF\n" }), "{reply:?}");
    let line_of = regex::Regex::new(
        r#"^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? ([0-9eE.+-]+|\+Inf|NaN)$"#,
    );
    let line_of = line_of.unwrap();
    let (mut kinds, mut samples) = (BTreeMap::new(), BTreeMap::new());
    for line in reply.body.lines().filter(|line| !line.is_empty()) {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(
                ["counter", "gauge", "histogram", "summary", "untyped", "unknown", "info"].contains(&kind),
                "{line}"
            );
            assert_eq!(kinds.insert(name.to_owned(), kind.to_owned()), None, "{line}");
        } else if !line.starts_with('#') {
            let parts = line_of.captures(line).unwrap_or_else(|| panic!("not a sample: {line}"));
            let ends = ["_bucket", "_sum", "_count", "_total", "_info"];
            let base = ends.iter().find_map(|end| kinds.get(parts[1].strip_suffix(end)?));
            let kind = kinds.get(&parts[1]).or(base).unwrap_or_else(|| panic!("no type for {line}"));
            let name = format!("{}{}", &parts[1], parts.get(2).map_or("", |labels| labels.as_str()));
            assert_eq!(samples.insert(name, (kind.clone(), parts[3].parse().unwrap())), None, "{line}");
        }
    }
    samples
}

#[test]
fn metrics_count_requests() {
    let target = Target::from_env();
    let counters = || {
        let mut samples = samples(&target.get("/metrics").expect_status(200));
        samples.retain(|_, (kind, _)| kind == "counter");
        samples
    };
    target.exec("no-such-thing").fails_with(64);
    let before = counters();
    for _ in 0..3 {
        target.exec("no-such-thing").fails_with(64);
    }
    let after = counters();
    for (name, (_, value)) in &before {
        assert!(after[name].1 >= *value, "a counter must not decrease: {name}");
    }
    // Other clients may use the same server at the same time.
    let grown =
        after.iter().filter(|(name, (_, value))| *value >= before.get(*name).map_or(0.0, |before| before.1) + 3.0);
    assert!(grown.count() > 0, "{before:?} {after:?}");
}
