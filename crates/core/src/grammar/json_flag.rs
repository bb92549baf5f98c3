//! The flag `--json` of clients that know agent-browser's own command line.
//!
//! agent-browser finds the flag anywhere on the line, also in text. Here it is a flag only where no text of the caller
//! can be: before the subcommand, and last in a command without free text.

use super::profile::Profile;
use super::spec::ValueKind;

/// Element that asks for JSON.
const JSON: &str = "--json";

/// Removes the flag from `argv`, and returns `true` if it was there. Only the compat profile has it.
pub fn take_json_flag(profile: Profile, argv: &mut Vec<String>) -> bool {
    if profile != Profile::Compat {
        return false;
    }
    if argv.first().is_some_and(|first| first == JSON) {
        argv.remove(0);
        return true;
    }
    let is_last = argv.len() > 1 && argv.last().is_some_and(|last| last == JSON);
    if is_last && argv.first().is_some_and(|name| !has_text(profile, name)) {
        argv.pop();
        return true;
    }
    false
}

/// Returns `true` if a value of the subcommand may be any text.
fn has_text(profile: Profile, name: &str) -> bool {
    let Some(row) = profile.row(name) else { return false };
    let positionals = row.forms.iter().flat_map(|form| form.positionals).map(|positional| positional.kind);
    let flags = row.forms.iter().flat_map(|form| form.flags).filter_map(|flag| Some(flag.value?.1));
    positionals.chain(flags).any(|kind| matches!(kind, ValueKind::MultilineText | ValueKind::Text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(profile: Profile, line: &str) -> (bool, String) {
        let mut argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        (take_json_flag(profile, &mut argv), argv.join(" "))
    }

    #[test]
    fn json_flag_is_taken_only_where_no_text_can_be() {
        for (line, is_taken, rest) in [
            ("--json snapshot -i", true, "snapshot -i"),
            ("snapshot -i --json", true, "snapshot -i"),
            ("get title --json", true, "get title"),
            ("goto a.example --json", true, "goto a.example"),
            ("--json fill @e1 x", true, "fill @e1 x"),
            ("--json --json", true, "--json"),
            ("fill @e1 --json", false, "fill @e1 --json"),
            ("type @e1 x --json", false, "type @e1 x --json"),
            ("find label a fill --json", false, "find label a fill --json"),
            ("wait --text --json", false, "wait --text --json"),
            ("snapshot --json -i", false, "snapshot --json -i"),
            ("snapshot --json=true", false, "snapshot --json=true"),
            ("snapshot", false, "snapshot"),
        ] {
            assert_eq!(take(Profile::Compat, line), (is_taken, rest.to_owned()), "{line}");
            assert_eq!(take(Profile::Strict, line), (false, line.to_owned()), "{line}");
        }
        assert!(!take_json_flag(Profile::Compat, &mut Vec::new()));
    }
}
