//! Secret values that a session keeps.
//!
//! Invariant: a value that cannot be kept is an error, because it could not be masked.

use std::collections::BTreeSet;

use thiserror::Error;

/// Maximum number of values that a session keeps.
const MAX_VALUES: usize = 1024;

/// Maximum length of all values together, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Maximum length of a value, in UTF-16 code units, as pages count it.
pub(super) const MAX_LENGTH: u64 = 4096;

/// Limit of secret values that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum SecretLimit {
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

/// Value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldValue {
    /// The value, or its begin if it is too long.
    pub(super) text: String,
    /// Length of the whole value, in UTF-16 code units.
    pub(super) length: u64,
    /// True if the page shows it as plain text.
    pub(super) is_visible: bool,
}

/// Set of the values that a session has seen.
#[derive(Debug, Default)]
pub(super) struct SecretValues {
    values: BTreeSet<String>,
    bytes: usize,
    /// Values of the state that the session's context began with.
    saved: BTreeSet<String>,
}

impl SecretValues {
    /// Adds a value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not kept, or only its begin.
    pub(super) fn add(&mut self, value: &FieldValue) -> Result<(), SecretLimit> {
        if value.text.is_empty() {
            return Ok(());
        }
        if !self.values.contains(&value.text) {
            if self.values.len() >= MAX_VALUES || self.bytes + value.text.len() > MAX_BYTES {
                return Err(SecretLimit::Values);
            }
            self.bytes += value.text.len();
            self.values.insert(value.text.clone());
        }
        if value.length > MAX_LENGTH { Err(SecretLimit::Length) } else { Ok(()) }
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
        Ok(())
    }

    /// Returns the values.
    pub(super) fn to_set(&self) -> BTreeSet<String> {
        self.values.union(&self.saved).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, length: u64) -> FieldValue {
        FieldValue { text: text.to_owned(), length, is_visible: false }
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
        assert_eq!(values.add_saved(&set("saved")), Ok(()));
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
}
