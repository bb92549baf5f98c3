//! Completions for shells and manual pages, from the definition of the command line.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::error::CliError;
use crate::cli::output::print_made;

/// Name of the program.
const PROGRAM: &str = "browser-shell";

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
    use crate::cli::arguments::command;

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
