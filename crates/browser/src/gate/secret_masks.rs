//! Masks of the secret values that a session keeps, which are made once for each set of values: making them takes long.
//!
//! Invariant: a mask belongs to the values that it was made of, which never change. Who changes the values of a session takes new masks.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use browser_shell_core::output::mask::{Literals, Pieces, SentPieces};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Length of a secret from which on it is searched in the text of a page, in characters.
pub(super) const LEAST_WORD: usize = 6;

/// The same for a secret of digits alone.
pub(super) const LEAST_NUMBER: usize = 4;

/// Length of texts from which on the search of secrets in them leaves the worker, in bytes.
const LONG: usize = 64 * 1024;

/// Number of bytes of a text whose search takes as long as making a mask of one byte.
const MASK_COST: usize = 8;

/// Searches secrets in texts of a page, of this length together. As long as it takes, other sessions are served.
pub(super) fn search_in<T>(length: usize, search: impl FnOnce() -> T) -> T {
    let has_others = || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if length >= LONG && has_others() { tokio::task::block_in_place(search) } else { search() }
}

/// Masks of the secrets of a session.
#[derive(Debug, Default)]
pub struct SecretMasks {
    /// Values of fields.
    values: BTreeSet<String>,
    /// Values of the saved state.
    saved: BTreeSet<String>,
    /// Long rests of values in their fields.
    rests: BTreeSet<String>,
    literals: OnceLock<Arc<Literals>>,
    words: OnceLock<Arc<Literals>>,
    pictured_words: OnceLock<Arc<Literals>>,
}

impl SecretMasks {
    pub(super) fn new(values: &BTreeSet<String>, saved: &BTreeSet<String>, rests: &BTreeSet<String>) -> Self {
        Self { values: values.clone(), saved: saved.clone(), rests: rests.clone(), ..Self::default() }
    }

    /// Returns what masks all of them.
    #[must_use]
    pub fn literals(&self) -> Arc<Literals> {
        let all = || self.values.iter().chain(&self.saved).chain(&self.rests).cloned().collect::<BTreeSet<_>>();
        made(&self.literals, self.bytes(), || Literals::new(all()))
    }

    /// Returns what finds the secrets of fields in a text that people read: as words, and not the short ones.
    pub(super) fn words(&self) -> Arc<Literals> {
        made(&self.words, self.bytes(), || Literals::new(self.long_values().cloned()))
    }

    /// Returns the same with the long rests of secrets, for texts that a picture shows.
    pub(super) fn pictured_words(&self) -> Arc<Literals> {
        made(&self.pictured_words, self.bytes(), || Literals::new(self.long_values().chain(&self.rests).cloned()))
    }

    fn long_values(&self) -> impl Iterator<Item = &String> {
        self.values.iter().filter(|value| is_long(value))
    }

    fn bytes(&self) -> usize {
        bytes_of([&self.values, &self.saved, &self.rests].into_iter().flatten())
    }
}

/// Pieces of the secrets of fields, without those that the agent has sent.
#[derive(Debug, Default)]
pub(super) struct SecretPieces {
    values: BTreeSet<String>,
    sent: SentPieces,
    pieces: OnceLock<Arc<Pieces>>,
}

impl SecretPieces {
    pub(super) fn new(values: &BTreeSet<String>, sent: &SentPieces) -> Self {
        Self { values: values.clone(), sent: sent.clone(), pieces: OnceLock::new() }
    }

    /// Returns them.
    pub(super) fn get(&self) -> Arc<Pieces> {
        let make = || Pieces::new(self.values.iter().map(String::as_str)).without(&self.sent);
        made(&self.pieces, bytes_of(&self.values), make)
    }
}

/// Returns what was made before, or makes it of so many bytes. Another task that waits for it meanwhile leaves its worker too.
fn made<T>(kept: &OnceLock<Arc<T>>, bytes: usize, make: impl FnOnce() -> T) -> Arc<T> {
    if let Some(made) = kept.get() {
        return made.clone();
    }
    search_in(bytes.saturating_mul(MASK_COST), || kept.get_or_init(|| Arc::new(make())).clone())
}

fn bytes_of<'a>(values: impl IntoIterator<Item = &'a String>) -> usize {
    values.into_iter().map(String::len).sum()
}

/// Returns true for a secret that is searched in the text of a page.
fn is_long(value: &str) -> bool {
    let length = value.chars().count();
    length >= LEAST_WORD || length >= LEAST_NUMBER && value.chars().all(char::is_numeric)
}
