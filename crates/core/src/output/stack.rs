//! Removal of JavaScript stacks from messages.

/// Returns a message without the lines of a JavaScript stack, which say nothing to an agent.
pub(super) fn without_stack(message: String) -> String {
    if !message.lines().any(is_frame) {
        return message;
    }
    let mut kept: String = message.split_inclusive('\n').filter(|line| !is_frame(line)).collect();
    if !message.ends_with('\n') {
        kept.truncate(kept.trim_end_matches('\n').len());
    }
    kept
}

/// Returns `true` for a line such as `    at name (file.js:10:5)`.
fn is_frame(line: &str) -> bool {
    let Some(frame) = line.strip_prefix("    at ") else { return false };
    let place = frame.trim_end().trim_end_matches(')');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = place.rsplit(':');
    let has_position = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    has_position || place.ends_with("<anonymous>") || place.ends_with("native code")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn javascript_stacks_are_removed_from_messages() {
        let stack = "locator.click: Error: no element\n    at Page.f (/a/b.js:10:5)\n    at async /a/c.js:1:22\n    at <anonymous>\nCall log:\n  - waiting";
        assert_eq!(without_stack(stack.to_owned()), "locator.click: Error: no element\nCall log:\n  - waiting");
        assert_eq!(without_stack("x\n    at f (a.js:1:2)".to_owned()), "x");
        for message in ["one line", "two\nlines\n", "x\n    at noon", "    at the door:5", "at f (a.js:1:2)"] {
            assert_eq!(without_stack(message.to_owned()), message);
        }
    }
}
