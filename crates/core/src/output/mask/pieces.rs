//! Pieces of secrets.
//!
//! Text that a page or a person put into a field can be cut there until no whole secret is left. A field with a piece of one counts as secret
//! as a whole.

use std::collections::HashSet;
use std::fmt;

/// Length of a piece, in characters.
const LENGTH: usize = 4;

/// Maximum number of pieces that an agent has sent and that are remembered.
const MAX_SENT: usize = 64 * 1024;

/// All pieces of a set of secrets. `Debug` shows how many there are.
#[derive(Clone, Default)]
pub struct Pieces(HashSet<[char; LENGTH]>);

/// Pieces of the texts that an agent has sent. They are no pieces of a secret: it could send guesses and see which of them are.
#[derive(Clone, Debug, Default)]
pub struct SentPieces {
    pieces: HashSet<[char; LENGTH]>,
    /// End of what was sent before, which single keys continue.
    end: Vec<char>,
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pieces").field(&self.0.len()).finish()
    }
}

impl Pieces {
    /// Creates the set of all pieces of these secrets. A secret of less than 4 characters has none.
    ///
    /// ```
    /// use browser_shell_core::output::mask::Pieces;
    ///
    /// let pieces = Pieces::new(["hunter2!"]);
    /// assert!(pieces.is_in("the nter of it") && !pieces.is_in("hun r2! HUNTER2!"));
    /// ```
    #[must_use]
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self(secrets.into_iter().flat_map(pieces).collect())
    }

    /// Returns the pieces that an agent has not sent.
    #[must_use]
    pub fn without(self, sent: &SentPieces) -> Self {
        Self(self.0.difference(&sent.pieces).copied().collect())
    }

    /// Returns `true` if there are no pieces.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if a text has one of the pieces.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        !self.is_empty() && pieces(text).iter().any(|piece| self.0.contains(piece))
    }
}

impl SentPieces {
    /// Adds a text.
    ///
    /// ```
    /// use browser_shell_core::output::mask::{Pieces, SentPieces};
    ///
    /// let mut sent = SentPieces::default();
    /// for text in ["guess", "h", "u", "n", "t"] {
    ///     sent.add(text);
    /// }
    /// let pieces = Pieces::new(["hunter"]).without(&sent);
    /// assert!(pieces.is_in("unter") && !pieces.is_in("hunt"));
    /// ```
    pub fn add(&mut self, text: &str) {
        let joined: String = self.end.iter().copied().chain(text.chars()).collect();
        if !self.is_full() {
            self.pieces.extend(pieces(&joined));
        }
        let count = joined.chars().count();
        self.end = joined.chars().skip(count.saturating_sub(LENGTH - 1)).collect();
    }

    /// Returns `true` if there may be others that are not remembered.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.pieces.len() >= MAX_SENT
    }
}

/// Returns all pieces of a text.
fn pieces(text: &str) -> Vec<[char; LENGTH]> {
    let characters: Vec<_> = text.chars().collect();
    characters.windows(LENGTH).filter_map(|piece| piece.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_secrets_have_no_pieces() {
        assert!(Pieces::new(["abc", ""]).is_empty());
        let pieces = Pieces::new(["äöüß"]);
        assert!(pieces.is_in("xäöüßx"), "control");
        assert!(!pieces.is_in("äöü") && !pieces.is_in("") && !pieces.is_in("ÄÖÜß"));
        assert!(!format!("{pieces:?}").contains('ä'));
    }

    proptest! {
        #[test]
        fn part_of_four_characters_is_found(secret in "\\PC{4,12}", start in 0_usize..9, around in "\\PC{0,3}") {
            let characters: Vec<_> = secret.chars().collect();
            let start = start.min(characters.len() - LENGTH);
            let part: String = characters[start..start + LENGTH].iter().collect();
            let text = format!("{around}{part}{around}");
            prop_assert!(Pieces::new([secret.as_str()]).is_in(&text));
        }
    }
}
