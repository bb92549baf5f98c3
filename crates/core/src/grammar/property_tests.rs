//! Property tests of the grammar.

use proptest::prelude::*;

use super::forbidden::{BOOLEAN, WITH_VALUE};
use super::*;

const RUNTIME: [Profile; 2] = [Profile::Strict, Profile::Compat];

/// Generates an element that is likely to match a rule of the tool.
fn element() -> impl Strategy<Value = String> {
    let known: Vec<&'static str> = WITH_VALUE
        .iter()
        .chain(BOOLEAN)
        .copied()
        .chain(GRAMMAR.iter().map(|row| row.name))
        .chain(
            GRAMMAR
                .iter()
                .flat_map(|row| row.forms)
                .flat_map(|form| form.flags)
                .flat_map(|flag| [flag.name, flag.alias]),
        )
        .chain(["@e1", "text", "5", "true", "--fn", "--clear", "a.png", "load", "up"])
        .collect();
    prop_oneof![3 => proptest::sample::select(known).prop_map(str::to_owned), 1 => "\\PC{0,12}", 1 => any::<String>()]
}

/// Generates `argv` that is likely to match a rule of the runtime.
fn runtime_argv() -> impl Strategy<Value = Vec<String>> {
    let known = proptest::sample::select(vec![
        "find",
        "role",
        "text",
        "label",
        "placeholder",
        "alt",
        "title",
        "testid",
        "first",
        "last",
        "nth",
        "click",
        "fill",
        "check",
        "hover",
        "type",
        "focus",
        "--name",
        "--exact",
        "button",
        "2",
        "@e1",
        "#a",
        "tab",
        "new",
        "close",
        "cookies",
        "set",
        "get",
        "clear",
        "--curl",
        "scrollintoview",
        "screenshot",
        "--full",
        "-f",
        "true",
        "false",
        "--full=x",
        "a.png",
        "/workspace/a.png",
        "/workspace/../a.png",
        "dir/a.png",
        "--cdp",
        "--session",
        "--json",
        "-x",
        "",
        "https://a.example",
    ]);
    let word = prop_oneof![6 => known.prop_map(str::to_owned), 1 => "\\PC{0,8}"];
    let first =
        proptest::sample::select(vec!["find", "find", "tab", "cookies", "screenshot", "scrollintoview", "fill"]);
    (first, proptest::collection::vec(word, 0..7)).prop_map(|(first, mut rest)| {
        rest.insert(0, first.to_owned());
        rest
    })
}

/// Returns `true` if a subcommand has a file name.
fn has_file_name(row: &SubcommandSpec) -> bool {
    let mut kinds = row.forms.iter().flat_map(|form| form.positionals).map(|positional| positional.kind);
    kinds.any(|kind| matches!(kind, ValueKind::FileName(_)))
}

proptest! {
    #[test]
    fn command_parse_and_print_round_trip(argv in proptest::collection::vec(element(), 0..7)) {
        if let Ok(command) = parse(Profile::Tool, &argv, |_| true) {
            let printed = command.to_argv();
            prop_assert_eq!(parse(Profile::Tool, &printed, |_| true), Ok(command));
        }
    }

    /// An accepted command contains no element that a known version of agent-browser would remove.
    // Requirement 1.4.
    #[test]
    fn accepted_commands_contain_no_global_flag(argv in proptest::collection::vec(element(), 0..7)) {
        if let Ok(command) = parse(Profile::Tool, &argv, |_| true) {
            for word in command.to_argv() {
                prop_assert!(find_global_flag(&word).is_none() || (command.row.name, word.as_str()) == ("screenshot", "--full"));
                prop_assert!(!word.contains('\0'));
            }
        }
    }

    /// Disabling a subcommand never allows more.
    #[test]
    fn enabling_fewer_subcommands_never_allows_more(argv in proptest::collection::vec(element(), 0..7)) {
        if parse(Profile::Tool, &argv, |_| false).is_ok() {
            prop_assert!(parse(Profile::Tool, &argv, |_| true).is_ok());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn accepted_commands_parse_again_unchanged(argv in runtime_argv()) {
        for profile in RUNTIME {
            if let Ok(command) = parse(profile, &argv, |_| true) {
                prop_assert_eq!(parse(profile, &command.to_argv(), |_| true), Ok(command));
            }
        }
    }

    /// Only `screenshot` has a global flag, and no element follows it.
    // Requirement 1.4.
    #[test]
    fn runtime_passes_only_the_screenshot_global_flag(argv in runtime_argv()) {
        for profile in RUNTIME {
            let Ok(command) = parse(profile, &argv, |_| true) else { continue };
            let printed = command.to_argv();
            for (index, word) in printed.iter().enumerate().filter(|(_, word)| find_global_flag(word).is_some()) {
                prop_assert_eq!((command.row.name, word.as_str()), ("screenshot", "--full"));
                prop_assert_eq!(printed.get(index + 1), None, "it is last");
            }
        }
    }

    /// No accepted path leads out of the workspace.
    #[test]
    fn file_names_never_escape_workspace(name in "(/workspace/|/|)([a.~ -]{0,3}/){0,3}[a.-]{0,3}\\.png") {
        for profile in RUNTIME {
            let argv = ["screenshot".to_owned(), "#a".to_owned(), name.clone()];
            if let Ok(command) = parse(profile, &argv, |_| true) {
                let path = command.value(|kind| matches!(kind, ValueKind::FileName(_))).expect("a name");
                let components: Vec<_> = std::path::Path::new(path).components().collect();
                prop_assert!(components.iter().all(|part| matches!(part, std::path::Component::Normal(_))), "{}", path);
                prop_assert_eq!(components.len(), path.split('/').count());
            }
        }
    }

    /// Strict accepts the same as the tool, and more only for subcommands with file names. There, it reads an element with one
    /// leading slash as a file name; the tool, which has no such names, reads it as a selector.
    #[test]
    fn strict_profile_equals_tool_except_file_names(argv in runtime_argv()) {
        let (tool, strict) = (parse(Profile::Tool, &argv, |_| true), parse(Profile::Strict, &argv, |_| true));
        let has_file = GRAMMAR.iter().any(|row| Some(row.name) == argv.first().map(String::as_str) && has_file_name(row));
        if has_file {
            let has_path = argv.iter().any(|element| element.starts_with('/') && !element.starts_with("//"));
            prop_assert!(tool.is_err() || strict.is_ok() || has_path, "{:?}", argv);
        } else {
            prop_assert_eq!(tool, strict);
        }
    }
}
