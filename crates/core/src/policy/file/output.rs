//! Section `output` of the policy file.

use super::fields::Fields;
use super::value::Choice;
use crate::policy::output::{AnswerStyle, OutputRules};

pub(super) fn output(fields: &mut Fields<'_>, output: &mut OutputRules) {
    let text = "data: an answer is an object whose stdout is JSON. text: plain text for a language model, without the list of references. text-with-code: the same, with the exit code and the code as structured content, which several clients show a model in place of the text and the picture. Default: data.";
    let styles = AnswerStyle::ALL.iter().map(|style| (style.as_str(), *style));
    fields.field("style", text, &Choice::new(styles), &mut output.style);
}
