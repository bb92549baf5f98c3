//! Values of password fields.
//!
//! `get value` reports what a field holds, also a password. The type of the field is asked for after the value, and the value
//! is masked if the field holds a password or its type is unknown.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::call::after::landing::run_command;
use crate::call::phases::AnsweredCall;
use crate::call::step::AfterStep;
use browser_shell_core::grammar::{self, Profile, ValueKind};
use browser_shell_core::output::Body;

/// Step that masks the value of a password field.
pub(crate) struct MaskPasswordValue;

impl AfterStep for MaskPasswordValue {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let is_value =
                call.command().is_some_and(|command| (command.row.name, command.form.word) == ("get", Some("value")));
            if is_value && call.reply.exit_code == 0 && !holds_no_password(call).await {
                call.reply.body.mask_value();
            }
        })
    }
}

/// Returns true if the field of the command is known to hold no password.
async fn holds_no_password(call: &AnsweredCall) -> bool {
    let selector = call.command().and_then(|command| command.value(|kind| kind == ValueKind::Selector));
    let argv = ["get", "attr", selector.unwrap_or_default(), "type"].map(str::to_owned);
    let Ok(get_type) = grammar::parse(Profile::Compat, &argv, |_| true) else { return false };
    let Ok(answer) = run_command(call, &get_type).await else { return false };
    let Body::Data(data) = answer.body else { return false };
    match data.get("value") {
        Some(Value::String(text)) if answer.exit_code == 0 => !text.eq_ignore_ascii_case("password"),
        Some(Value::Null) => answer.exit_code == 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::call::options::CallOptions;
    use crate::call::request::CallRequest;
    use crate::call::testing::TestPipeline;
    use browser_shell_core::grammar::Profile;
    use browser_shell_core::request::CallArguments;
    use browser_shell_core::session_id::SessionId;
    use serde_json::json;

    #[tokio::test]
    async fn value_of_field_without_known_type_is_masked() {
        // The scripted transport gives the same answer to the value and to the type.
        for (value, stdout) in [
            (json!({"value": "text"}), r#"{"value":"text"}"#),
            (json!({"value": null}), r#"{"value":null}"#),
            (json!({"value": "password"}), r#"{"value":"***"}"#),
            (json!({"value": "PassWord"}), r#"{"value":"***"}"#),
            (json!({"value": 1}), r#"{"value":"***"}"#),
            (json!({"other": "hunter2"}), ""),
        ] {
            let pipeline = TestPipeline::new("{}");
            pipeline.set_page_url("http://public.test/");
            pipeline.answer_with(value.clone());
            let session = SessionId::new("s").expect("valid");
            let argv = ["get", "value", "#field"].map(str::to_owned).to_vec();
            let request = CallRequest {
                session: Some(session.clone()),
                word: None,
                arguments: Ok(CallArguments { session, argv, timeout: None }),
                options: CallOptions { profile: Profile::Compat, ..CallOptions::default() },
            };
            let reply = pipeline.send(request).await;
            assert_eq!((reply.exit_code, reply.stdout.trim_end()), (0, stdout), "{value}");
            assert!(pipeline.runs().contains(&"get attr #field type".to_owned()), "{:?}", pipeline.runs());
        }
    }
}
