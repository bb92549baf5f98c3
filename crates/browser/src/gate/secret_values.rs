//! Secret values that a session keeps.
//!
//! Text that the agent typed itself is kept apart: it is secret as the value of its field only. So is a short rest that the agent has left of a
//! secret in its field: a mask elsewhere would confirm a guess of that part. A long rest is a secret elsewhere too, because pages show what
//! their fields hold, until the agent has sent it: its own guess is masked nowhere.
//!
//! Invariants: a value that cannot be kept is an error, because it could not be masked; a value that was a secret once stays one, so
//! that typing it confirms no guess; masks that are kept are those of the values as they are.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use browser_shell_core::grammar::Command;
use browser_shell_core::output::mask::{Literals, Pieces, SentPieces};
use browser_shell_core::typed_texts::{Before, TypedTexts};
use thiserror::Error;

use crate::gate::secret_masks::{LEAST_NUMBER, LEAST_WORD, SecretMasks, SecretPieces};
use browser_shell_cdp::protocol::{BackendNodeId, DebugSessionId};

/// Maximum number of values that a session keeps.
const MAX_VALUES: usize = 1024;

/// Maximum number of typed values that a session keeps. The oldest ones, which no field holds any more, are forgotten first.
const MAX_TYPED: usize = 512;

/// Maximum length of all values together, in bytes, and of all typed ones.
const MAX_BYTES: usize = 256 * 1024;

/// Maximum length of a value, in UTF-16 code units, as pages count it.
pub(super) const MAX_LENGTH: u64 = 4096;

/// Maximum length of what an agent has sent and that is compared with what is left of secrets, in bytes.
const MAX_SENT: usize = 256 * 1024;

/// Length of what was typed before that a guess may begin with, in bytes.
const MAX_GUESS: usize = 16 * 1024;

/// Limit of secret values that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SecretLimit {
    /// One value is too long.
    #[error("a secret field has more than {MAX_LENGTH} characters")]
    Length,
    /// A document has too many fields.
    #[error("a page has too many secret fields")]
    Fields,
    /// The session has seen too many values.
    #[error("the session has seen too many values of secret fields")]
    Values,
    /// A saved state has too many values.
    #[error("its values have more than {MAX_BYTES} bytes together: save a state of fewer origins")]
    Saved,
}

/// Field: the gate's session on its process, and its id there.
pub(super) type FieldKey = (DebugSessionId, BackendNodeId);

/// Value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldValue {
    pub(super) field: FieldKey,
    /// The value, or its begin if it is too long.
    pub(super) text: String,
    /// Length of the whole value, in UTF-16 code units.
    pub(super) length: u64,
    /// True if the page shows it as plain text.
    pub(super) is_visible: bool,
    /// Value that its document gives it, if that is another one.
    pub(super) default: Option<String>,
    /// Texts that what is edited is made of, each of which an element around it may show.
    pub(super) parts: Vec<String>,
    /// True if it is a field for secrets, and none into which one was entered.
    pub(super) is_declared: bool,
}

/// Set of the values that a session has seen.
#[derive(Clone, Debug, Default)]
pub(super) struct SecretValues {
    values: BTreeSet<String>,
    bytes: usize,
    /// Values that the agent typed, the newest one last.
    typed: VecDeque<String>,
    /// Parts of secrets that the agent has left in their fields.
    remainders: BTreeSet<String>,
    long: LongRemainders,
    /// True if the agent has acted since all fields were read.
    has_acted: bool,
    texts: TypedTexts,
    /// Pieces of what the agent typed.
    sent: SentPieces,
    /// Values of fields as they were read last.
    fields: HashMap<FieldKey, String>,
    /// Values of the state that the session's context began with.
    saved: BTreeSet<String>,
    /// Masks of the values, until these change.
    masks: Option<Arc<SecretMasks>>,
    /// Pieces of them, until these or what was sent change.
    pieces: Option<Arc<SecretPieces>>,
}

/// Parts of secrets, left in their fields, that have so many characters of one that nobody guesses them. They are masked wherever a page shows
/// them, but for those that the agent has sent itself: there the mask would confirm its guess.
#[derive(Clone, Debug, Default)]
struct LongRemainders {
    masked: BTreeSet<String>,
    /// Values of the agent's commands.
    lines: String,
    /// Text that it typed.
    typed: String,
    /// True if it has sent more than is remembered. Each one that is new could be a guess then.
    is_full: bool,
}

impl SecretValues {
    /// Remembers the text that a command of the agent types.
    pub(super) fn add_typed(&mut self, command: &Command) {
        self.texts.add(command);
        self.has_acted |= !command.only_reads() && command.row.name != "wait";
        if let Some(text) = command.sent_text() {
            self.sent.add(&text);
            self.pieces = None;
        }
        if self.long.add_sent(command) {
            self.masks = None;
        }
    }

    /// Adds the values of all fields of the session's pages. The pages with a dialog reported none.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is not kept, or only its begin.
    pub(super) fn add_read(&mut self, values: &[FieldValue], is_complete: bool) -> Result<(), SecretLimit> {
        let mut added = Ok(());
        for value in values {
            added = added.and(self.add(value));
            // Frameworks copy there what is typed.
            if let Some(text) = value.default.as_ref().filter(|text| !self.is_typed(text)) {
                added = added.and(self.keep(text));
            }
        }
        let filled = values.iter().filter(|value| !value.text.is_empty());
        self.fields = filled.map(|value| (value.field.clone(), value.text.clone())).collect();
        if is_complete {
            self.texts.set_read();
            self.has_acted = false;
        }
        added
    }

    /// Returns true if the agent typed a value, which was not a secret before.
    pub(super) fn is_typed(&self, value: &str) -> bool {
        let is_secret = self.values.contains(value) || self.saved.contains(value);
        !is_secret && (self.typed.iter().any(|typed| typed == value) || self.texts.makes(value, Before::Nothing))
    }

    /// Returns true if the agent typed the value of a field.
    fn is_typed_in_field(&self, value: &FieldValue) -> bool {
        let is_known = |text: &str| self.typed.iter().any(|typed| typed == text);
        match self.fields.get(&value.field) {
            _ if self.values.contains(&value.text) || self.saved.contains(&value.text) => false,
            _ if self.remainders.contains(&value.text) => false,
            _ if is_known(&value.text) => true,
            Some(old) if is_known(old) => self.texts.makes(&value.text, Before::Typed(old)),
            Some(_) => self.texts.makes(&value.text, Before::Secret),
            None => self.texts.makes(&value.text, Before::Nothing),
        }
    }

    /// Keeps a value that the agent did not type.
    fn keep(&mut self, text: &str) -> Result<(), SecretLimit> {
        if !self.values.contains(text) {
            self.make_room(text)?;
            self.values.insert(text.to_owned());
            self.forget_masks();
        }
        Ok(())
    }

    /// Forgets the masks, because the values have changed.
    fn forget_masks(&mut self) {
        (self.masks, self.pieces) = (None, None);
    }

    /// Returns the masks of the values as they are now.
    pub(super) fn masks(&mut self) -> Arc<SecretMasks> {
        let make = || Arc::new(SecretMasks::new(&self.values, &self.saved, &self.long.masked));
        self.masks.get_or_insert_with(make).clone()
    }

    /// Returns the pieces of the secrets of fields, without those that the agent has sent. Those of saved states are left out: they have words of
    /// every page in them.
    pub(super) fn secret_pieces(&mut self) -> Arc<SecretPieces> {
        let make = || Arc::new(SecretPieces::new(&self.values, &self.sent));
        self.pieces.get_or_insert_with(make).clone()
    }

    /// Counts a value more.
    fn make_room(&mut self, text: &str) -> Result<(), SecretLimit> {
        if self.values.len() + self.remainders.len() >= MAX_VALUES || self.bytes + text.len() > MAX_BYTES {
            return Err(SecretLimit::Values);
        }
        self.bytes += text.len();
        Ok(())
    }

    /// Returns true if a value is what the agent has left of a secret in its field, with or without something of its own.
    fn is_remainder(&self, value: &FieldValue) -> bool {
        let text = value.text.as_str();
        if self.remainders.contains(text) {
            return true;
        }
        // The texts of an editor are read one by one.
        let may_be = self.has_acted && value.parts.is_empty();
        let Some(old) = self.fields.get(&value.field).filter(|old| may_be && *old != text) else { return false };
        let is_secret = self.values.contains(old) || self.saved.contains(old);
        let has_begin = old.chars().next() == text.chars().next();
        let has_end = old.chars().next_back() == text.chars().next_back();
        let has_part = has_begin || has_end || old.contains(text);
        has_part && (self.remainders.contains(old) || is_secret && !text.contains(old.as_str()))
    }

    /// Returns true if a text has so many characters in a row of a secret that a mask of it confirms a long guess only. What the agent has
    /// added to a shorter rest does not count.
    fn has_much_of_secret(&self, text: &str) -> bool {
        let is_number = |text: &str| text.chars().all(char::is_numeric);
        // Digits of a password are not as many as those of a code.
        let has_number = is_number(text);
        let values = || self.values.iter().chain(&self.saved);
        has_run_of(text, LEAST_WORD, values())
            || has_number && has_run_of(text, LEAST_NUMBER, values().filter(|value| is_number(value)))
    }

    /// Adds a value.
    fn add(&mut self, value: &FieldValue) -> Result<(), SecretLimit> {
        if value.text.is_empty() {
            return Ok(());
        }
        if value.length <= MAX_LENGTH && self.is_typed_in_field(value) {
            self.typed.retain(|typed| *typed != value.text);
            self.typed.push_back(value.text.clone());
            let mut bytes: usize = self.typed.iter().map(String::len).sum();
            while self.typed.len() > MAX_TYPED || bytes > MAX_BYTES {
                bytes -= self.typed.pop_front().map_or(bytes, |typed| typed.len());
            }
            return Ok(());
        }
        if value.length <= MAX_LENGTH && !self.values.contains(&value.text) && self.is_remainder(value) {
            if !self.remainders.contains(&value.text) {
                self.make_room(&value.text)?;
                self.remainders.insert(value.text.clone());
                if self.has_much_of_secret(&value.text) {
                    self.long.add(&value.text);
                    self.forget_masks();
                }
            }
            return Ok(());
        }
        if !self.values.contains(&value.text) {
            // Lines of an editor are elements, which are read one by one.
            let mut lines: Vec<_> = value.text.lines().filter(|line| *line != value.text).collect();
            // Making the pieces takes long, and most values have one line.
            if !lines.is_empty() {
                let pieces = self.secret_pieces().get();
                lines.retain(|line| self.is_entered_secret(line, &pieces));
            }
            lines.into_iter().try_for_each(|line| self.keep(line))?;
        }
        self.keep_parts(value)?;
        self.keep(&value.text)?;
        if value.length > MAX_LENGTH { Err(SecretLimit::Length) } else { Ok(()) }
    }

    /// Keeps the parts of an editor that have characters of a secret: elements in it can be read one by one.
    fn keep_parts(&mut self, value: &FieldValue) -> Result<(), SecretLimit> {
        if value.parts.len() < 2 || value.parts.iter().all(|part| self.values.contains(part)) {
            return Ok(());
        }
        let are_secret = if value.is_declared {
            vec![true; value.parts.len()]
        } else {
            self.secret_pieces().get().are_in(&value.parts)
        };
        let mut parts = value.parts.iter().zip(are_secret).filter(|(_, is_secret)| *is_secret);
        parts.try_for_each(|(part, _)| self.keep(part))
    }

    /// Adds the values of a saved state.
    ///
    /// # Errors
    ///
    /// Returns an error, and adds nothing, if they are more than the session keeps.
    pub(super) fn add_saved(&mut self, values: &BTreeSet<String>) -> Result<(), SecretLimit> {
        let saved: BTreeSet<_> = self.saved.union(values).cloned().collect();
        if saved.iter().map(String::len).sum::<usize>() > MAX_BYTES {
            return Err(SecretLimit::Saved);
        }
        self.saved = saved;
        self.forget_masks();
        Ok(())
    }

    /// Returns true if a session knows secrets of fields.
    pub(super) fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    /// Returns true if a text that has entered a field is a secret: it has one of these pieces, and the agent did not type it. If more was
    /// sent than is remembered, any text is, so that nothing tells which have a piece.
    pub(super) fn is_entered_secret(&self, text: &str, pieces: &Pieces) -> bool {
        !text.is_empty() && !self.is_typed(text) && (self.sent.is_full() || pieces.is_in(text))
    }

    /// Returns what is left of secrets in their fields.
    pub(super) fn remainders(&self) -> BTreeSet<String> {
        self.remainders.clone()
    }

    /// Returns the values that the agent typed.
    pub(super) fn typed(&self) -> BTreeSet<String> {
        self.typed.iter().cloned().collect()
    }

    /// Returns true if there are no values that the agent did not type.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.saved.is_empty()
    }

    /// Returns the values that the agent did not type, with the long rests of them.
    pub(super) fn to_set(&self) -> BTreeSet<String> {
        self.values.iter().chain(&self.saved).chain(&self.long.masked).cloned().collect()
    }
}

impl LongRemainders {
    /// Adds what is left of a secret.
    fn add(&mut self, text: &str) {
        let rest = BTreeSet::from([text.to_owned()]);
        if !self.is_full && guessed(&rest, &self.lines, &self.typed).is_empty() {
            self.masked.extend(rest);
        }
    }

    /// Remembers what a command sends, and masks no longer what is a guess now. Returns true if there is such a guess.
    fn add_sent(&mut self, command: &Command) -> bool {
        let count = self.masked.len();
        let (lines, typed) = (self.lines.len(), self.typed.len());
        for (_, value) in command.values() {
            self.lines.push('\n');
            self.lines.push_str(value);
        }
        // Keys may continue what was typed before.
        if !matches!(command.row.name, "type" | "press") {
            self.typed.push('\n');
        }
        self.typed.push_str(&command.sent_text().unwrap_or_default());
        if !self.masked.is_empty() {
            let lines = self.lines.get(lines..).unwrap_or_default();
            let guessed = guessed(&self.masked, lines, with_guess(&self.typed, typed));
            self.masked.retain(|rest| !guessed.contains(rest));
        }
        if self.lines.len() + self.typed.len() > MAX_SENT {
            self.is_full = true;
            self.lines.clear();
            self.typed = with_guess(&self.typed, self.typed.len()).to_owned();
        }
        self.masked.len() < count
    }
}

/// Returns the end of what was typed, from a place on and as much before it as a guess may begin with.
fn with_guess(typed: &str, from: usize) -> &str {
    typed.get(typed.ceil_char_boundary(from.saturating_sub(MAX_GUESS))..).unwrap_or_default()
}

/// Returns which of some texts are in what the agent has sent, in any encoding.
fn guessed(texts: &BTreeSet<String>, lines: &str, typed: &str) -> BTreeSet<String> {
    let is_masked = |texts: &BTreeSet<String>| {
        let literals = Literals::new(texts.iter().cloned());
        literals.mask_text(lines) != lines || literals.mask_text(typed) != typed
    };
    let is_one_masked = is_masked(texts);
    let is_guess = |text: &&String| {
        typed.contains(text.as_str()) || is_one_masked && is_masked(&BTreeSet::from([(*text).clone()]))
    };
    texts.iter().filter(is_guess).cloned().collect()
}

/// Returns true if a text has this many characters in a row of one of these secrets.
fn has_run_of<'a>(text: &str, length: usize, mut secrets: impl Iterator<Item = &'a String>) -> bool {
    let characters: Vec<_> = text.chars().collect();
    let runs: HashSet<_> = characters.windows(length).collect();
    let has_run = |secret: &String| {
        let characters: Vec<_> = secret.chars().collect();
        characters.windows(length).any(|run| runs.contains(run))
    };
    !runs.is_empty() && secrets.any(has_run)
}

#[cfg(test)]
mod tests {
    use browser_shell_core::grammar::{Profile, parse};
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str, length: u64) -> FieldValue {
        FieldValue {
            field: ("s".into(), BackendNodeId(1)),
            text: text.to_owned(),
            length,
            is_visible: false,
            default: None,
            parts: Vec::new(),
            is_declared: false,
        }
    }

    #[test]
    fn value_that_cannot_be_kept_is_an_error() {
        let mut values = SecretValues::default();
        for number in 0..MAX_VALUES {
            assert_eq!(values.add(&value(&number.to_string(), 4)), Ok(()), "control");
        }
        assert_eq!(values.add(&value("one more", 8)), Err(SecretLimit::Values));
        assert_eq!(values.add(&value("7", 1)), Ok(()), "control: a known value");
        let mut values = SecretValues::default();
        let is_kept = |number: &u32| values.add(&value(&format!("{number:04}").repeat(1000), 4000)).is_ok();
        assert_eq!((0..100).filter(is_kept).count(), MAX_BYTES / 4000);
    }

    #[test]
    fn saved_values_that_cannot_be_kept_are_an_error() {
        let mut values = SecretValues::default();
        let set = |value: &str| BTreeSet::from([value.to_owned()]);
        assert!(values.is_empty(), "control");
        assert_eq!(values.add_saved(&set("saved")), Ok(()));
        assert!(!values.is_empty());
        assert_eq!(values.add_saved(&set(&"x".repeat(MAX_BYTES))), Err(SecretLimit::Saved));
        assert_eq!(values.add_saved(&set("saved again")), Ok(()), "control");
        values.add(&value("field", 5)).unwrap();
        assert_eq!(values.to_set(), ["field", "saved", "saved again"].map(str::to_owned).into());
    }

    #[test]
    fn begin_of_too_long_value_is_kept_with_an_error() {
        let mut values = SecretValues::default();
        assert_eq!(values.add(&value("begin", MAX_LENGTH + 1)), Err(SecretLimit::Length));
        assert_eq!(values.add(&value("begin", MAX_LENGTH + 1)), Err(SecretLimit::Length), "each time");
        assert_eq!(values.to_set().len(), 1);
        assert_eq!(values.add(&value("whole", MAX_LENGTH)), Ok(()), "control");
    }

    fn command(argv: &[&str]) -> Command {
        let argv: Vec<_> = argv.iter().map(|text| (*text).to_owned()).collect();
        parse(Profile::Tool, &argv, |_| true).unwrap()
    }

    /// Sends a command and reads the field, and returns the secrets and the typed values.
    fn read(values: &mut SecretValues, argv: &[&str], field: &str) -> (Vec<String>, Vec<String>) {
        values.add_typed(&command(argv));
        values.add_read(&[value(field, 5)], true).unwrap();
        (values.to_set().into_iter().collect(), values.typed().into_iter().collect())
    }

    // Requirement 6.3.
    #[test]
    fn typed_value_is_kept_apart_from_secrets() {
        let mut values = SecretValues::default();
        assert_eq!(read(&mut values, &["type", "#p", "ab"], "ab"), (vec![], vec!["ab".to_owned()]));
        read(&mut values, &["type", "#p", "cd"], "abcd");
        assert!(values.is_typed("abcd") && !values.is_typed("abcX"));
        read(&mut values, &["press", "Backspace"], "abc");
        assert!(values.to_set().is_empty());
        read(&mut values, &["click", "#x"], "abcX");
        assert_eq!(values.to_set(), BTreeSet::from(["abcX".to_owned()]), "somebody else typed a part");
    }

    // Requirement 6.3.
    #[test]
    fn secret_stays_one_when_the_agent_types_it() {
        let mut values = SecretValues::default();
        let saved = vec!["saved".to_owned()];
        assert_eq!(read(&mut values, &["open", "http://a.example/"], "saved"), (saved.clone(), vec![]));
        assert_eq!(read(&mut values, &["fill", "#p", "saved"], "saved"), (saved, vec![]));
        assert!(!values.is_typed("saved"));
        read(&mut values, &["type", "#p", "more"], "savedmore");
        assert!(values.to_set().contains("savedmore") && values.typed().is_empty());
        let mut values = SecretValues::default();
        assert_eq!(read(&mut values, &["fill", "#p", "saved"], "saved").1.len(), 1, "control");
    }

    // Requirement 6.3.
    #[test]
    fn what_the_agent_leaves_of_a_secret_is_no_secret_elsewhere() {
        let mut values = SecretValues::default();
        let saved: BTreeSet<_> = ["Hunter2xyz".to_owned()].into();
        read(&mut values, &["open", "http://a.example/"], "Hunter2xyz");
        // Each is made of a part of the one before it, which a mask would confirm.
        for (argv, left) in [
            (["press", "Delete"], "H"),
            (["type", "x"], "Hx"),
            (["press", "Home"], "Hx"),
            (["press", "Backspace"], "H"),
            (["fill", "H"], "H"),
            (["press", "Control+z"], "Hunter2xyz"),
            (["press", "Delete"], "unter"),
            (["press", "Delete"], "nt"),
        ] {
            let argv: Vec<_> = if argv[0] == "press" { argv.to_vec() } else { vec![argv[0], "#p", argv[1]] };
            read(&mut values, &argv, left);
            assert_eq!((values.to_set(), values.typed().len()), (saved.clone(), 0), "{argv:?}");
        }
        // A page that makes its field anew has it still.
        let anew = FieldValue { field: ("s".into(), BackendNodeId(2)), ..value("nt", 2) };
        values.add_read(&[anew], true).unwrap();
        assert_eq!(values.to_set(), saved);
        assert_eq!(values.remainders(), ["H", "Hx", "nt", "unter"].map(str::to_owned).into());
        // Controls: with all of the secret, and what somebody else enters.
        read(&mut values, &["press", "Control+z"], "Hunter2xyz");
        read(&mut values, &["type", "#p", "!"], "Hunter2xyz!");
        assert!(values.to_set().contains("Hunter2xyz!"));
        read(&mut values, &["snapshot"], "Hunter2");
        assert!(values.to_set().contains("Hunter2"));
    }

    // Requirement 6.3.
    #[test]
    fn long_rest_of_a_secret_is_one_until_the_agent_sends_it() {
        for (secret, left, is_masked) in [
            ("Hunter2xyz", "Hunter2xy", true),
            ("Hunter2xyz", "unter2", true),
            ("Hunter2xyz", "unter", false),
            ("483920", "48392", true),
            ("483920", "4839", true),
            ("483920", "483", false),
            // Digits of a password are easier to guess than its other parts.
            ("x48392y", "48392", false),
        ] {
            let mut values = SecretValues::default();
            let saved: BTreeSet<_> = [secret.to_owned()].into();
            read(&mut values, &["open", "http://a.example/"], secret);
            assert_ne!(values.masks().pictured_words().mask_text(secret), secret, "control");
            read(&mut values, &["press", "Backspace"], left);
            let with_rest: BTreeSet<_> = [secret, left].map(str::to_owned).into();
            assert_eq!(values.to_set(), if is_masked { with_rest } else { saved.clone() }, "{left}");
            assert_eq!(values.masks().pictured_words().mask_text(left) != left, is_masked, "{left}");
            assert!(
                values.masks().words().mask_text(left) == left && values.secret_pieces().get().is_in(secret),
                "{left}"
            );
            values.add_typed(&command(&["fill", "#name", left]));
            assert_eq!(values.to_set(), saved, "a mask would confirm the guess of {left}");
            let masks = values.masks();
            for literals in [masks.literals(), masks.pictured_words()] {
                assert_eq!(literals.mask_text(left), left, "a mask that was kept");
            }
            assert!(left.len() < 4 || !values.secret_pieces().get().is_in(left), "pieces that were kept: {left}");
        }
    }

    // Requirement 6.3.
    #[test]
    fn rest_of_a_secret_that_was_sent_in_any_way_is_a_guess() {
        for (commands, is_masked) in [
            (&[&["fill", "#name", "is it unter2?"][..]][..], false),
            (&[&["open", "http://a.example/?q=%75nter2"]], false),
            (&[&["fill", "#name", "&#117;nter2"]], false),
            (&[&["fill", "#name", "UNTER2"]], false),
            (&[&["type", "#name", "xunt"], &["press", "e"], &["press", "Backspace"], &["type", "#name", "r2"]], false),
            // Controls: another text, and one in pieces.
            (&[&["fill", "#name", "unter3 nter2"]], true),
            (&[&["fill", "#name", "unt, no more"], &["fill", "#name", "and er2"]], true),
        ] {
            for is_sent_before in [true, false] {
                let mut values = SecretValues::default();
                read(&mut values, &["open", "http://a.example/"], "Hunter2xyz");
                let send =
                    |values: &mut SecretValues| commands.iter().for_each(|argv| values.add_typed(&command(argv)));
                if is_sent_before {
                    send(&mut values);
                }
                read(&mut values, &["press", "Delete"], "unter2");
                assert!(is_sent_before || values.to_set().contains("unter2"), "control");
                send(&mut values);
                assert_eq!(values.to_set().contains("unter2"), is_masked, "{commands:?} {is_sent_before}");
            }
        }
    }

    // Requirement 6.3.
    #[test]
    fn own_text_behind_a_short_rest_makes_no_secret() {
        let mut values = SecretValues::default();
        let saved: BTreeSet<_> = ["Hunter2xyz".to_owned()].into();
        read(&mut values, &["open", "http://a.example/"], "Hunter2xyz");
        read(&mut values, &["press", "Delete"], "H");
        // A mask of this text would tell the one letter that is not known.
        read(&mut values, &["type", "#p", "abcdefgh"], "Habcdefgh");
        assert_eq!((values.to_set(), values.remainders().contains("Habcdefgh")), (saved, true));
        read(&mut values, &["press", "Control+z"], "Hunter2xyz");
        read(&mut values, &["press", "Backspace"], "Hunter2");
        read(&mut values, &["type", "#p", "abc"], "Hunter2abc");
        assert!(values.to_set().contains("Hunter2abc"), "control");
        // Once more was sent than is remembered, each new rest could be a guess. Those that are masked are compared with what is sent.
        for _ in 0..=MAX_SENT / 4096 {
            values.add_typed(&command(&["fill", "#name", &"x".repeat(4096)]));
        }
        assert!(values.long.is_full && values.to_set().contains("Hunter2abc"));
        read(&mut values, &["press", "Backspace"], "Hunter2ab");
        assert!(!values.to_set().contains("Hunter2ab"), "a new one");
        values.add_typed(&command(&["fill", "#name", "Hunter2abc"]));
        assert!(!values.to_set().contains("Hunter2abc"), "a guess");
    }

    // Requirement 6.3.
    #[test]
    fn lines_of_an_editor_with_pieces_are_secrets() {
        let mut values = SecretValues::default();
        values.add(&value("Hunter2xyz", 10)).unwrap();
        values.add(&value("a note\n\nis Hunt", 15)).unwrap();
        assert!(values.to_set().contains("is Hunt") && !values.to_set().contains("a note"));
    }

    // Requirement 6.3.
    #[test]
    fn parts_of_an_editor_with_characters_of_a_secret_are_secrets() {
        let edited = |parts: &[&str], is_declared| FieldValue {
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            is_declared,
            ..value(&parts.concat(), 10)
        };
        let mut values = SecretValues::default();
        values.add(&value("Hunter2xyz", 10)).unwrap();
        values.add(&edited(&["note", "Hu", "nt", "er2xyz"], false)).unwrap();
        let kept = values.to_set();
        assert!(["Hu", "nt", "er2xyz"].iter().all(|part| kept.contains(*part)) && !kept.contains("note"), "{kept:?}");
        values.add(&edited(&["48", "29"], true)).unwrap();
        assert!(values.to_set().contains("48") && values.to_set().contains("29"));
    }

    #[test]
    fn typed_values_are_bounded_and_no_error() {
        let mut values = SecretValues::default();
        for number in 0..2 * MAX_VALUES {
            let text = number.to_string();
            read(&mut values, &["fill", "#p", &text], &text);
        }
        assert_eq!(values.typed.len(), MAX_TYPED);
        assert!(values.to_set().is_empty() && values.fields.len() == 1);
        let long = |number: usize| format!("{number:04}").repeat(1000);
        for number in 0..100 {
            read(&mut values, &["fill", "#p", &long(number)], &long(number));
        }
        assert_eq!(values.typed.len(), MAX_BYTES / 4000);
        assert!(values.typed.back() == Some(&long(99)) && values.to_set().is_empty(), "the newest are kept");
    }

    /// Change of what a session knows.
    #[derive(Clone, Debug)]
    enum Change {
        Read(usize, usize),
        Fill(usize),
        Press(&'static str),
        Save(usize),
    }

    /// Texts that are secrets, rests of them, pieces of them, or what an agent guesses.
    const TEXTS: [&str; 9] =
        ["Hunter2xyz", "Hunter2xy", "unter2", "H", "48392017", "483920", "a note\nis Hunt", "correct horse", ""];

    fn change() -> impl Strategy<Value = Change> {
        let text = || 0..TEXTS.len();
        prop_oneof![
            3 => (0..3usize, text()).prop_map(|(field, text)| Change::Read(field, text)),
            1 => text().prop_map(Change::Fill),
            1 => prop_oneof![Just("Delete"), Just("Control+z")].prop_map(Change::Press),
            1 => text().prop_map(Change::Save),
        ]
    }

    proptest! {
        // Requirement 6.3. Masks of former values would show a secret.
        #[test]
        fn kept_masks_are_those_of_the_values(changes in proptest::collection::vec((change(), any::<bool>()), 1..12)) {
            let mut values = SecretValues::default();
            for (change, is_asked) in changes {
                match change {
                    Change::Read(field, text) => {
                        let field = ("s".into(), BackendNodeId(field as u64));
                        let read = FieldValue { field, ..value(TEXTS[text], 5) };
                        values.add_read(&[read], true).unwrap();
                    }
                    Change::Fill(text) => values.add_typed(&command(&["fill", "#p", TEXTS[text]])),
                    Change::Press(key) => values.add_typed(&command(&["press", key])),
                    Change::Save(text) => values.add_saved(&[TEXTS[text].to_owned()].into()).unwrap(),
                }
                if !is_asked {
                    continue;
                }
                let (masks, pieces) = (values.masks(), values.secret_pieces().get());
                let kept = (masks.literals(), masks.words(), masks.pictured_words());
                let mut fresh = SecretValues { masks: None, pieces: None, ..values.clone() };
                let (masks, made) = (fresh.masks(), fresh.secret_pieces().get());
                let all = Literals::new(values.to_set());
                for text in TEXTS.iter().map(|text| format!("x {text} y")) {
                    prop_assert_eq!(kept.0.mask_text(&text), all.mask_text(&text));
                    prop_assert_eq!(kept.1.mask_text(&text), masks.words().mask_text(&text));
                    prop_assert_eq!(kept.2.mask_text(&text), masks.pictured_words().mask_text(&text));
                    prop_assert_eq!(pieces.is_in(&text), made.is_in(&text));
                }
                prop_assert!(Arc::ptr_eq(&kept.0, &values.masks().literals()), "they are kept");
            }
        }
    }
}
