//! Answers to commands that run without agent-browser.

use std::fmt::Write as _;

use serde_json::json;

use crate::call::phases::{CallContext, ValidatedCall};
use crate::call::reply::CallReply;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{LocalAnswer, Profile};
use browser_shell_core::output::Body;

/// Returns the reply of such a command.
pub(super) async fn reply(context: &CallContext, call: &ValidatedCall, answer: LocalAnswer) -> CallReply {
    let name = call.session.as_str();
    let body = match answer {
        LocalAnswer::Version => {
            let Some(version) = context.services.transport.version().await else {
                let reason = "agent-browser does not report its version";
                return CallReply::refused(Decision::new(Code::AgentBrowserUnavailable, reason));
            };
            Body::Text(format!("{version}\n"))
        }
        LocalAnswer::Help => Body::Text(help(context.options.profile)),
        LocalAnswer::Session => Body::Data(json!({"session": name})),
        LocalAnswer::Sessions => {
            let names: Vec<_> =
                Some(name).filter(|_| context.services.sessions.is_open(&call.session)).into_iter().collect();
            Body::Data(json!({"sessions": names}))
        }
        // The run answers it, because it knows the session's pages.
        LocalAnswer::Dialog => return CallReply::refused(Decision::new(Code::NoDialog, "no dialog is open")),
    };
    CallReply::done(body)
}

/// Returns the list of the commands of a profile, with one usage line for each form.
fn help(profile: Profile) -> String {
    let mut text = "Send one of these commands:\n\n".to_owned();
    for row in profile.rows() {
        for form in row.forms {
            let _ = writeln!(text, "  {}", format!("{} {}", row.name, form.usage()).trim_end());
        }
        let _ = writeln!(text, "      {}", row.summary);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_command_of_profile() {
        let text = help(Profile::Compat);
        for line in
            ["  open URL\n", "  tab close [INDEX]\n", "  get value SELECTOR\n", "  session list\n", "  --version\n"]
        {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(!text.contains("eval"), "{text}");
    }
}
