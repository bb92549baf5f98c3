//! Parser from `argv` to a [`Command`].
//!
//! Requirements 1.3 and 1.4.
//!
//! Invariants: a command contains only canonical flag spellings and checked values. An element that the grammar does
//! not define is refused, and so is one that any known version of agent-browser parses as a global flag.

use super::arguments::ArgumentParser;
use super::command::Command;
use super::forbidden::{FORBIDDEN_SUBCOMMANDS, FORMER_NAMES, SUBCOMMAND_ALIASES};
use super::form_selection::select_form;
use super::global_flags::find_global_flag;
use super::profile::Profile;
use super::spec::{Form, SubcommandSpec};
use crate::decision::{Code, Decision};

/// Maximum number of elements of `argv`, including the subcommand.
pub const MAX_ELEMENTS: usize = 129;

/// Maximum length of one element, in characters.
pub const MAX_CHARACTERS: usize = 8192;

/// Maximum length of all elements together, in bytes. Linux starts no program with much more, and reports no usable
/// error.
const MAX_TOTAL_BYTES: usize = 1024 * 1024;

/// Parses `argv`. `is_enabled` returns `true` for a subcommand that the policy enables; it is called only for a
/// subcommand that has to be enabled.
///
/// # Errors
///
/// Returns the first refusal, with the position of the element as its location.
pub fn parse(profile: Profile, argv: &[String], is_enabled: impl Fn(&str) -> bool) -> Result<Command, Decision> {
    check_elements(argv)?;
    if let Some((position, flag)) = global_flags(profile, argv, &is_enabled).next() {
        let reason = format!("`{flag}` is a global flag of agent-browser, even inside text");
        return Err(Decision::new(Code::FlagGlobal, reason).at_element(position));
    }
    parse_checked(profile, argv, &is_enabled)
}

/// Returns the elements that are global flags of the CLI, with their positions.
fn global_flags(
    profile: Profile,
    argv: &[String],
    is_enabled: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (usize, &'static str)> {
    let row = argv.first().and_then(|name| profile.row(name));
    argv.iter()
        .enumerate()
        // A subcommand is no flag, not even `--version`.
        .filter(move |(position, element)| {
            let is_offered = |form: &Form| profile.offers(form, &is_enabled);
            !row.is_some_and(|row| *position == 0 || row.allows_global_flag(element, is_offered))
        })
        .filter_map(|(position, element)| Some((position, find_global_flag(element)?)))
}

fn parse_checked(profile: Profile, argv: &[String], is_enabled: impl Fn(&str) -> bool) -> Result<Command, Decision> {
    let Some((name, rest)) = argv.split_first() else {
        return Err(Decision::new(Code::ArgumentMissing, "the subcommand is missing").at("argv"));
    };
    let row = find_subcommand(profile, name, &is_enabled)?;
    let is_offered = |form: &Form| profile.offers(form, &is_enabled);
    let form = select_form(row, rest, &is_offered)?;
    let arguments = ArgumentParser { profile, row, form, is_offered: &is_offered }.parse(rest)?;
    Ok(Command { row, form, arguments })
}

/// Checks the rules for all elements, which do not depend on the subcommand.
fn check_elements(argv: &[String]) -> Result<(), Decision> {
    if argv.len() > MAX_ELEMENTS {
        return Err(Decision::new(Code::ArgumentUnexpected, format!("more than {MAX_ELEMENTS} elements")).at("argv"));
    }
    if argv.iter().map(String::len).sum::<usize>() > MAX_TOTAL_BYTES {
        let reason = format!("more than {MAX_TOTAL_BYTES} bytes in total; split the text into several calls");
        return Err(Decision::new(Code::ArgumentInvalid, reason).at("argv"));
    }
    for (position, element) in argv.iter().enumerate() {
        if element.len() > MAX_CHARACTERS && element.chars().count() > MAX_CHARACTERS {
            let reason = format!("longer than {MAX_CHARACTERS} characters; split the text into several calls");
            return Err(Decision::new(Code::ArgumentInvalid, reason).at_element(position));
        }
        if element.contains('\0') {
            return Err(Decision::new(Code::CharacterNotAllowed, "NUL is not allowed").at_element(position));
        }
    }
    Ok(())
}

fn find_subcommand(
    profile: Profile,
    name: &str,
    is_enabled: impl Fn(&str) -> bool,
) -> Result<&'static SubcommandSpec, Decision> {
    if let Some(row) = profile.row(name) {
        return if profile.needs_enabling(row) && !is_enabled(row.name) {
            let (code, location) = profile.not_enabled(row);
            Err(Decision::new(code, format!("`{}` is not enabled", row.name)).at(location))
        } else {
            Ok(row)
        };
    }
    let (code, reason) = if let Some(forbidden) = FORBIDDEN_SUBCOMMANDS.iter().find(|forbidden| **forbidden == name) {
        (Code::SubcommandForbidden, format!("`{forbidden}` is never available"))
    } else if let Some((alias, target)) =
        SUBCOMMAND_ALIASES.iter().chain(FORMER_NAMES).find(|(alias, _)| *alias == name)
    {
        (Code::SubcommandUnknown, format!("`{alias}` is called `{target}` here"))
    } else if name == "agent-browser" {
        (Code::SubcommandUnknown, "leave out `agent-browser`: the first element is the subcommand".to_owned())
    } else {
        (Code::SubcommandUnknown, "no such subcommand".to_owned())
    };
    Err(Decision::new(code, reason).at_element(0))
}
