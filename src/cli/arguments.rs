//! Arguments of the program, and what their definition gives: completions for shells and manual pages.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::output::{CliError, print_error, print_made};
use crate::cli::{call, doctor, egress, mcp, policy, runtime, serve};
use browser_shell_system::config::Settings;

/// Name of the program.
const PROGRAM: &str = "browser-shell";

/// Drive a visible Chromium from an AI agent: one MCP tool, browser-shell, behind a URL policy
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 110,
    after_help = "Examples:
  browser-shell doctor                             check that nothing is missing
  browser-shell call -- open https://example.com   make a call from the shell
  browser-shell mcp                                serve a client over stdio
  browser-shell policy explain http://10.0.0.1/    show the decision on a URL

`browser-shell COMMAND --help` lists the settings of a command. You can give
each as a flag or as an environment variable; the flag wins."
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) settings: Settings,
    #[command(subcommand)]
    pub(super) command: CommandLine,
}

// The arguments' types hold the help texts: a comment on a variant would hide the long ones.
#[derive(Debug, Subcommand)]
pub(super) enum CommandLine {
    Serve(Box<serve::ServeArguments>),
    Mcp(mcp::McpArguments),
    Egress(egress::EgressArguments),
    Runtime(Box<runtime::RuntimeArguments>),
    Call(call::CallArguments),
    /// Explain, check and describe policy files
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    Doctor(doctor::DoctorArguments),
    /// Print the tool as MCP clients see it under the policy file
    Tools,
    Completions(CompletionsArguments),
    Manual(ManualArguments),
}

/// Settings that a command uses, by their names in [`Settings`].
enum UsedSettings {
    All,
    Only(&'static [&'static str]),
}

/// Returns the settings that a command uses, for its help. Every command accepts all of them: an operator may set the
/// variables for all commands at once.
fn used_settings(path: &[&str]) -> UsedSettings {
    match path {
        ["mcp" | "runtime"] => UsedSettings::All,
        ["serve"] => UsedSettings::Only(&[
            "policy",
            "workspace",
            "template",
            "agent_browser",
            "concurrency",
            "max_sessions",
            "idle_sec",
            "action_timeout_ms",
            "transport",
            "audit",
            "runtime_dir",
        ]),
        ["call"] => UsedSettings::Only(&[
            "policy",
            "workspace",
            "template",
            "agent_browser",
            "cdp_port",
            "action_timeout_ms",
            "transport",
            "audit",
            "runtime_dir",
        ]),
        ["doctor"] => UsedSettings::Only(&[
            "policy",
            "workspace",
            "agent_browser",
            "cdp_port",
            "transport",
            "audit",
            "runtime_dir",
        ]),
        ["egress"] => UsedSettings::Only(&["policy", "audit"]),
        ["policy", "explain"] => UsedSettings::Only(&["policy"]),
        ["tools"] => UsedSettings::Only(&["policy", "agent_browser"]),
        _ => UsedSettings::Only(&[]),
    }
}

/// Returns the definition of the command line, in which each help shows only the settings that its command uses.
pub(super) fn command() -> Command {
    let mut command = Arguments::command();
    let settings: Vec<String> =
        Settings::augment_args(Command::new("settings")).get_arguments().map(|arg| arg.get_id().to_string()).collect();
    // Copies the settings to all subcommands, where they can be hidden one by one.
    command.build();
    hide_unused(command, &mut Vec::new(), &settings)
}

fn hide_unused(command: Command, path: &mut Vec<String>, settings: &[String]) -> Command {
    let used = used_settings(&path.iter().map(String::as_str).collect::<Vec<_>>());
    let is_hidden = |id: &str| match used {
        UsedSettings::All => false,
        UsedSettings::Only(names) => settings.iter().any(|setting| setting == id) && !names.contains(&id),
    };
    let mut command = command.mut_args(|arg| {
        let hide = is_hidden(arg.get_id().as_str());
        if hide { arg.hide(true) } else { arg }
    });
    for subcommand in command.get_subcommands_mut() {
        path.push(subcommand.get_name().to_owned());
        *subcommand = hide_unused(std::mem::take(subcommand), path, settings);
        path.pop();
    }
    command
}

/// Parses the arguments of the program.
///
/// # Errors
///
/// The exit code, after a help text or an error message was printed.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, ExitCode> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = command().try_get_matches_from(&arguments);
    matches.and_then(|matches| Arguments::from_arg_matches(&matches)).map_err(|error| {
        let code = u8::try_from(error.exit_code()).unwrap_or(2);
        if let Some(message) = call::missing_separator(&arguments, &error) {
            let _ = print_error(&format!("error: {message}\n\nFor more information, try '--help'."));
        } else {
            // The reader of a pipe may have stopped reading.
            let _ = error.print();
        }
        ExitCode::from(code)
    })
}

/// Variables that are no flags: the token of `call`, and what the image's services and the sandbox set for their programs.
const OTHER_VARIABLES: &[&str] = &["BROWSER_SHELL_BASE_GENERATION", "BROWSER_SHELL_SESSION", "BROWSER_SHELL_TOKEN"];

/// Returns the names among these that look like settings of this program and are none, such as misspelled ones.
pub(super) fn unknown_variables(names: impl Iterator<Item = OsString>) -> Vec<String> {
    let mut known: Vec<String> = OTHER_VARIABLES.iter().map(ToString::to_string).collect();
    add_variables(&command(), &mut known);
    let mut unknown: Vec<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| {
            name.starts_with("BROWSER_SHELL_") && !name.starts_with("BROWSER_SHELL_TEST_") && !known.contains(name)
        })
        .collect();
    unknown.sort_unstable();
    unknown
}

/// Variables of `--allow-host`: that of `mcp` and `serve`, and that of `runtime`.
const ALLOW_HOST_VARIABLES: [&str; 2] = ["BROWSER_SHELL_ALLOW_HOST", "BROWSER_SHELL_ALLOW_HOSTS"];

/// Returns the variable of `--allow-host` that is set for a command and is that of another one, and then the command's own.
pub(super) fn misplaced_variable(
    command: &CommandLine,
    is_set: impl Fn(&str) -> bool,
) -> Option<(&'static str, &'static str)> {
    let [of_tool, of_runtime] = ALLOW_HOST_VARIABLES;
    let (own, other) = match command {
        CommandLine::Mcp(_) | CommandLine::Serve(_) => (of_tool, of_runtime),
        CommandLine::Runtime(_) => (of_runtime, of_tool),
        _ => return None,
    };
    // Both are set where several commands have one environment.
    (is_set(other) && !is_set(own)).then_some((other, own))
}

fn add_variables(command: &Command, known: &mut Vec<String>) {
    known.extend(command.get_arguments().filter_map(|arg| arg.get_env()?.to_str().map(str::to_owned)));
    command.get_subcommands().for_each(|subcommand| add_variables(subcommand, known));
}

/// Print the completions of commands and flags for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  source <(browser-shell completions bash)
  browser-shell completions zsh >~/.zfunc/_browser-shell
  browser-shell completions fish >~/.config/fish/completions/browser-shell.fish")]
pub(super) struct CompletionsArguments {
    /// Shell
    shell: Shell,
}

/// Print the manual page of the program or of a command
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  browser-shell manual | man -l -
  browser-shell manual policy explain | man -l -")]
pub(super) struct ManualArguments {
    /// Words of the command; the program itself without them
    #[arg(value_name = "COMMAND")]
    path: Vec<String>,
}

/// Prints the completions for a shell.
pub(super) fn print_completions(mut command: Command, options: &CompletionsArguments) -> Result<ExitCode, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut command, PROGRAM, &mut text);
    print_made(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a manual page.
pub(super) fn print_manual(command: &Command, options: &ManualArguments) -> Result<ExitCode, CliError> {
    let page = find(command, &options.path).ok_or_else(|| CliError::NoCommand(options.path.join(" ")))?;
    let mut text = Vec::new();
    Man::new(page).render(&mut text)?;
    print_made(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the command below another one with these words, under its whole name.
fn find(command: &Command, path: &[String]) -> Option<Command> {
    let name = path.iter().fold(PROGRAM.to_owned(), |name, word| format!("{name}-{word}"));
    let found = path.iter().try_fold(command, |command, word| command.find_subcommand(word))?;
    Some(found.clone().display_name(name).version(env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_no_settings_are_named() {
        let names =
            ["BROWSER_SHELL_POLICY", "BROWSER_SHELL_JWT_KEYS", "BROWSER_SHELL_POLCY", "BROWSER_SHELL_TOKEN", "PATH"];
        assert_eq!(unknown_variables(names.iter().map(OsString::from)), ["BROWSER_SHELL_POLCY"]);
    }

    #[test]
    fn variable_of_another_server_is_named_with_the_own_one() {
        let [of_tool, of_runtime] = ALLOW_HOST_VARIABLES;
        let misplaced = |command: &str, set: &[&str]| {
            let arguments = parse(["browser-shell", command].map(OsString::from)).expect("a command");
            misplaced_variable(&arguments.command, |name| set.contains(&name))
        };
        for (command, own, other) in
            [("runtime", of_runtime, of_tool), ("mcp", of_tool, of_runtime), ("serve", of_tool, of_runtime)]
        {
            assert_eq!(misplaced(command, &[other]), Some((other, own)), "{command}");
            for set in [&[][..], &[own], &[own, other]] {
                assert_eq!(misplaced(command, set), None, "{command} {set:?}");
            }
            let definition = command_named(command);
            let is_own = definition.get_arguments().any(|arg| arg.get_env().is_some_and(|name| name == own));
            assert!(is_own, "{command} has {own}");
        }
        assert_eq!(misplaced("doctor", &[of_tool, of_runtime]), None);
    }

    fn command_named(name: &str) -> Command {
        find(&command(), &words(name)).expect("a command")
    }

    /// Returns the help of a command and of all below it, by path.
    fn helps(command: &Command, path: &str, all: &mut Vec<(String, String)>) {
        let path = format!("{path}{} ", command.get_name());
        all.push((path.trim_end().to_owned(), command.clone().term_width(80).render_long_help().to_string()));
        for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
            helps(subcommand, &path, all);
        }
    }

    #[test]
    fn cli_definition_is_consistent_and_help_matches_snapshot() {
        Arguments::command().debug_assert();
        insta::assert_snapshot!(command().render_long_help());
    }

    #[test]
    fn help_of_a_command_lists_the_settings_it_uses() {
        let mut all = Vec::new();
        helps(&command(), "", &mut all);
        let variables = |text: &str| -> Vec<String> {
            let settings = text.split_once("\nSettings:\n").map_or("", |(_, settings)| settings);
            let flags = settings.lines().filter_map(|line| line.strip_prefix("      --"));
            flags.filter_map(|flag| flag.split(' ').next()).map(str::to_owned).collect()
        };
        let listed: Vec<_> = all.iter().map(|(path, text)| (path.as_str(), variables(text))).collect();
        insta::assert_debug_snapshot!(listed);
    }

    /// Fails if a line of a footer is too long: it would be broken in the middle of a command.
    fn assert_footers_fit(command: &Command) {
        for footer in [command.get_after_help(), command.get_after_long_help()].into_iter().flatten() {
            for line in footer.to_string().lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
        }
        command.get_subcommands().for_each(assert_footers_fit);
    }

    #[test]
    fn help_fits_into_80_columns() {
        let mut all = Vec::new();
        helps(&command(), "", &mut all);
        assert!(all.len() >= 10, "the commands were not found");
        for (path, text) in all {
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{path}: {line}");
            }
        }
        assert_footers_fit(&command());
    }

    #[test]
    fn call_without_separator_names_the_line_to_type() {
        let message = |words: &[&str]| {
            let words: Vec<OsString> = ["browser-shell"].iter().chain(words).map(OsString::from).collect();
            let error = command().try_get_matches_from(&words).expect_err("refused");
            call::missing_separator(&words, &error)
        };
        for (words, line) in [
            (&["call"][..], "browser-shell call -- open https://example.com"),
            (&["call", "--json"], "browser-shell call --json -- open https://example.com"),
            (&["call", "open", "https://a.example"], "browser-shell call -- open https://a.example"),
            (
                &["call", "--session", "s1", "fill", "@e1", "it's a text"],
                r"browser-shell call --session s1 -- fill @e1 'it'\''s a text'",
            ),
            (&["call", "snapshot", "-i"], "browser-shell call -- snapshot -i"),
        ] {
            let message = message(words).unwrap_or_else(|| panic!("{words:?}"));
            assert!(message.ends_with(&format!("\n  {line}")), "{message}");
        }
        for words in
            [&["call", "--sesion", "s1"][..], &["call", "--"], &["call", "x", "--", "open"], &["tools", "open"]]
        {
            assert_eq!(message(words), None, "{words:?}");
        }
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_command_has_a_manual_page() {
        for (path, wanted) in [("", "browser-shell"), ("serve", "browser-shell-serve"), ("policy explain", "EXAMPLES")]
        {
            let page = find(&command(), &words(path)).expect("a command");
            let mut text = Vec::new();
            Man::new(page).render(&mut text).expect("written");
            let text = String::from_utf8(text).expect("a text");
            assert!(text.to_lowercase().replace("\\-", "-").contains(&wanted.to_lowercase()), "{path}: {text}");
        }
        assert!(find(&command(), &words("policy nothing")).is_none());
    }

    #[test]
    fn completions_have_commands_and_flags() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command(), PROGRAM, &mut text);
            let text = String::from_utf8(text).expect("a text");
            for wanted in ["serve", "policy", "explain", "api-keys"] {
                assert!(text.contains(wanted), "{shell}: {wanted}");
            }
        }
    }
}
