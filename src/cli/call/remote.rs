//! Call at a running server, over streamable HTTP, with the token from a file or from the environment.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock};
use rmcp::service::ServiceError;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::api::mcp::tool;
use crate::cli::call::arguments::CallArguments;
use crate::cli::call::http_client::{McpEndpoint, PlainHttpClient, ServerError};
use crate::cli::call::reply::PrintedReply;
use crate::cli::output::CliError;
use crate::cli::process::{single_thread_executor, stop_on_signal_or_hangup};
use browser_shell_core::request::DEFAULT_TIMEOUT_SEC;
use browser_shell_system::os::describe;

/// Time to wait for the reply in addition to the time limit of the call: it may wait for other calls of its session.
const QUEUE_TIMEOUT: Duration = Duration::from_mins(2);

/// Timeout to open the connection and to agree on a protocol version.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout to tell the server that this client ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Variable with the token. It is no flag: other users can read a command line.
const TOKEN_VARIABLE: &str = "BROWSER_SHELL_TOKEN";

/// Maximum size of a token in bytes.
const MAX_TOKEN: u64 = 16 * 1024;

/// Makes the call. The outer error is one of this machine.
pub(super) fn call(
    endpoint: &McpEndpoint,
    options: &CallArguments,
) -> Result<Result<PrintedReply, ServerError>, CliError> {
    let token = read_token(options.token_file.as_deref())?;
    let executor = single_thread_executor()?;
    let cancel = CancellationToken::new();
    let result = executor.block_on(async {
        tokio::spawn(stop_on_signal_or_hangup(cancel.clone()));
        call_tool(endpoint, token, options, &cancel).await
    });
    // A lookup of the host name may still run in a thread of its own.
    executor.shutdown_background();
    Ok(result)
}

async fn call_tool(
    endpoint: &McpEndpoint,
    token: Option<String>,
    options: &CallArguments,
    cancel: &CancellationToken,
) -> Result<PrintedReply, ServerError> {
    let url = endpoint.as_str();
    let client = PlainHttpClient::new(endpoint.clone());
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    // A call is never repeated.
    config.reinit_on_expired_session = false;
    config.auth_header = token;
    let transport = StreamableHttpClientTransport::with_client(client.clone(), config);
    let timeout_error = |duration: Duration| ServerError::Timeout { url: url.to_owned(), seconds: duration.as_secs() };
    let not_mcp = |reason: String| ServerError::NotMcp { url: url.to_owned(), reason };

    let service = tokio::select! {
        biased;
        service = tokio::time::timeout(CONNECT_TIMEOUT, ().serve(transport)) => service,
        () = cancel.cancelled() => return Err(ServerError::Canceled),
    };
    let mut service = service
        .map_err(|_| timeout_error(CONNECT_TIMEOUT))?
        .map_err(|error| client.failure().unwrap_or_else(|| not_mcp(error.to_string())))?;
    let parameters = CallToolRequestParams::new(tool::NAME).with_arguments(options.to_json());
    let limit = call_timeout(options.timeout) + QUEUE_TIMEOUT;
    let reply = async {
        match tokio::time::timeout(limit, service.call_tool(parameters)).await {
            Err(_) => Err(timeout_error(limit)),
            Ok(Ok(result)) => read_reply(&result, &options.session)
                .ok_or_else(|| not_mcp(format!("its reply is not that of `{}`", tool::NAME))),
            Ok(Err(ServiceError::McpError(error))) => {
                Err(ServerError::Refused { url: url.to_owned(), reason: error.message.into_owned() })
            }
            Ok(Err(error)) => Err(client.failure().unwrap_or_else(|| {
                let (url, reason) = (url.to_owned(), error.to_string());
                if client.has_sent_call() {
                    ServerError::OutcomeUnknown { url, reason }
                } else {
                    ServerError::NotMcp { url, reason }
                }
            })),
        }
    };
    let reply = tokio::select! {
        biased;
        reply = reply => reply,
        () = cancel.cancelled() => Err(ServerError::Canceled),
    };
    // At the server this ends the session of the protocol, with what runs in it.
    let _ = service.close_with_timeout(CLOSE_TIMEOUT).await;
    reply
}

/// Returns the time limit of the call. The server refuses one that is out of range.
fn call_timeout(seconds: Option<f64>) -> Duration {
    seconds.map_or(Duration::from_secs(DEFAULT_TIMEOUT_SEC), |seconds| {
        Duration::try_from_secs_f64(seconds).unwrap_or_default().min(Duration::from_hours(1))
    })
}

/// Reads a plain answer to a call of this session, which the answer does not name; `None` if it is that of another tool.
fn read_plain(result: &CallToolResult, session: &str) -> Option<Value> {
    let meta = &result.meta.as_ref()?.0;
    let exit_code = meta.get(tool::EXIT_CODE)?.as_i64()?;
    let text = result.content.iter().find_map(|content| content.as_text())?.text.as_str();
    let (stdout, stderr) = if exit_code == 0 { (text, "") } else { ("", text) };
    let mut reply = json!({ "session_id": session, "exit_code": exit_code, "stdout": stdout, "stderr": stderr });
    if let (Some(members), Some(code)) = (reply.as_object_mut(), meta.get(tool::CODE)) {
        members.insert("code".to_owned(), code.clone());
    }
    Some(reply)
}

/// Reads the tool's reply to a call of this session; `None` if it is that of another tool.
fn read_reply(result: &CallToolResult, session: &str) -> Option<PrintedReply> {
    let plain = read_plain(result, session);
    let is_plain = plain.is_some();
    let json = plain.or_else(|| result.structured_content.clone())?;
    let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
    let picture = result.content.iter().find_map(|content| match content {
        ContentBlock::Image(image) => STANDARD.decode(&image.data).ok(),
        _ => None,
    });
    Some(PrintedReply {
        exit_code: i32::try_from(json.get("exit_code")?.as_i64()?).ok()?,
        stdout: text("stdout")?,
        stderr: text("stderr")?,
        is_plain,
        picture,
        json,
    })
}

/// Reason why there is no token.
#[derive(Debug, Error)]
pub(super) enum TokenError {
    #[error("cannot read the token file `{}`: {}; check its path and its permissions", path.display(), describe(error))]
    Read { path: PathBuf, error: io::Error },
    #[error("{0} must hold one line of visible ASCII characters, at most {MAX_TOKEN} of them")]
    Invalid(String),
    #[error("there are two tokens; give --token-file or {TOKEN_VARIABLE}, not both")]
    Two,
}

impl From<TokenError> for CliError {
    fn from(error: TokenError) -> Self {
        Self::Command(Box::new(error))
    }
}

/// Returns the token from the file, or from the variable if it is set and not empty.
pub(super) fn read_token(file: Option<&Path>) -> Result<Option<String>, TokenError> {
    let variable = std::env::var_os(TOKEN_VARIABLE).filter(|value| !value.is_empty());
    match (file, variable) {
        (Some(_), Some(_)) => Err(TokenError::Two),
        (Some(path), None) => {
            let failed = |error| TokenError::Read { path: path.to_owned(), error };
            let metadata = std::fs::metadata(path).map_err(failed)?;
            let source = format!("the token file `{}`", path.display());
            if !metadata.is_file() || metadata.len() > MAX_TOKEN {
                return Err(TokenError::Invalid(source));
            }
            check_token(&std::fs::read(path).map_err(failed)?, source).map(Some)
        }
        (None, Some(value)) => {
            check_token(value.as_encoded_bytes(), format!("the variable {TOKEN_VARIABLE}")).map(Some)
        }
        (None, None) => Ok(None),
    }
}

/// Returns the token without its line break.
fn check_token(bytes: &[u8], source: String) -> Result<String, TokenError> {
    match str::from_utf8(bytes).map(|text| text.trim_end_matches(['\r', '\n'])) {
        Ok(token) if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(token.to_owned()),
        _ => Err(TokenError::Invalid(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_reply_has_its_session_and_code() {
        for (exit_code, code, stdout, stderr) in [(0, "ok", "text", ""), (75, "page-lost", "", "text")] {
            let details = json!({ tool::EXIT_CODE: exit_code, tool::CODE: code });
            let result = tool::text_result("text".to_owned(), details, None, exit_code != 0);
            let reply = read_reply(&result, "s7").expect("a reply");
            assert!(reply.is_plain);
            assert_eq!(
                reply.json,
                json!({"session_id": "s7", "exit_code": exit_code, "stdout": stdout, "stderr": stderr, "code": code})
            );
        }
        let other = tool::text_result("text".to_owned(), json!({ "other": 0 }), None, false);
        assert!(read_reply(&other, "s7").is_none(), "control: another tool");
        let data = json!({"session_id": "s7", "exit_code": 0, "stdout": "{}\n", "stderr": ""});
        let data = read_reply(&tool::call_result(data, None, false), "s7").expect("a reply");
        assert!(!data.is_plain, "control: data");
    }

    #[test]
    fn token_is_one_line_of_visible_characters() {
        for text in ["abc", "abc\n", "abc\r\n", "eyJ.eyJ.x-_~+/="] {
            assert_eq!(check_token(text.as_bytes(), String::new()).expect(text), text.trim_end());
        }
        for text in ["", "\n", "a b", "a\nb", "\u{e9}", "a\0"] {
            assert!(check_token(text.as_bytes(), String::new()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn token_file_errors_name_the_file() {
        for path in ["/nowhere/token", "/"] {
            let error = read_token(Some(Path::new(path))).expect_err(path).to_string();
            assert!(error.contains(&format!("`{path}`")), "{error}");
        }
    }
}
