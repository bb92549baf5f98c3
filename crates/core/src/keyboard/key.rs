//! Key, and what a page gets of it.

/// Key, with what a page gets of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Value of `KeyboardEvent.key`.
    pub key: String,
    /// Value of `KeyboardEvent.code`, empty for a letter or sign of another layout.
    pub code: &'static str,
    /// Number of the key in older interfaces, 0 for none.
    pub key_code: u32,
    /// Value of `KeyboardEvent.location`: 0 standard, 1 left, 2 right, 3 keypad.
    pub location: u32,
    /// Text that the key enters, empty for none.
    pub text: String,
}
