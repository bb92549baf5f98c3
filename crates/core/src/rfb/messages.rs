//! Table of the messages that a viewer may send.

/// Access of a viewer to the screen. [`Access::Control`] contains [`Access::Watch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Receiving the screen.
    Watch,
    /// Sending it input, too.
    Control,
}

/// Rule for the length of a message, from its type on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// Always this number of bytes.
    Fixed(usize),
    /// A head, whose last bytes are the number of items that follow.
    Counted {
        /// Length of the head.
        head: usize,
        /// Form of the number.
        count: Count,
        /// Length of an item.
        item: usize,
        /// Maximum number of items.
        max: usize,
    },
}

/// Form of the number of items in the head of a message, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// One byte, at this offset.
    Byte(usize),
    /// Two bytes, at this offset.
    Short(usize),
    /// Four bytes with a sign, at this offset. A negative number marks another form of the same length.
    Signed(usize),
}

/// Treatment of a message that the viewer's access contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// It is passed on as it is.
    Pass,
    /// It is passed on without the encodings that the access does not contain.
    FilterEncodings,
    /// It is passed on to a display without the middle button, by which X11 pastes what was selected last, in whatever session.
    FilterButtons,
}

/// Row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageRule {
    pub kind: u8,
    pub access: Access,
    pub length: Length,
    pub treatment: Treatment,
}

const fn row(kind: u8, access: Access, length: Length) -> MessageRule {
    MessageRule { kind, access, length, treatment: Treatment::Pass }
}

/// Type of `SetEncodings`.
pub(super) const SET_ENCODINGS: u8 = 2;

/// Maximum number of encodings. Viewers send about twenty.
const MAX_ENCODINGS: usize = 256;

/// Maximum length of a text for the clipboard, in bytes. `Xvnc` has the same limit.
const MAX_CUT_TEXT: usize = 256 * 1024;

/// Maximum length of what a fence carries, in bytes, as its specification says.
const MAX_FENCE: usize = 64;

/// Maximum number of monitors of a desktop size.
const MAX_SCREENS: usize = 16;

/// All messages that a viewer may send. Those in no row end the connection: among them are 250 (xvp), which shuts a machine down,
/// and 255 (QEMU), whose keys and audio no viewer needs here. Viewers use neither unless the screen offers it, which
/// the encodings decide.
pub(super) const MESSAGES: &[MessageRule] = &[
    // SetPixelFormat
    row(0, Access::Watch, Length::Fixed(20)),
    MessageRule {
        treatment: Treatment::FilterEncodings,
        ..row(
            SET_ENCODINGS,
            Access::Watch,
            Length::Counted { head: 4, count: Count::Short(2), item: 4, max: MAX_ENCODINGS },
        )
    },
    // FramebufferUpdateRequest
    row(3, Access::Watch, Length::Fixed(10)),
    // KeyEvent
    row(4, Access::Control, Length::Fixed(8)),
    // PointerEvent
    MessageRule { treatment: Treatment::FilterButtons, ..row(5, Access::Control, Length::Fixed(6)) },
    // ClientCutText, and with a negative number its extended form
    row(6, Access::Control, Length::Counted { head: 8, count: Count::Signed(4), item: 1, max: MAX_CUT_TEXT }),
    // EnableContinuousUpdates
    row(150, Access::Watch, Length::Fixed(10)),
    // ClientFence
    row(248, Access::Watch, Length::Counted { head: 9, count: Count::Byte(8), item: 1, max: MAX_FENCE }),
    // SetDesktopSize
    row(251, Access::Control, Length::Counted { head: 8, count: Count::Byte(6), item: 16, max: MAX_SCREENS }),
];

/// Returns the row of a message.
pub(super) fn rule(kind: u8) -> Option<MessageRule> {
    MESSAGES.iter().find(|rule| rule.kind == kind).copied()
}

impl Length {
    /// Returns the length of a message that begins with these bytes: `None` if more of them are needed to know it.
    ///
    /// # Errors
    ///
    /// Returns an error if it is longer than the limit.
    pub(super) fn of(self, message: &[u8]) -> Result<Option<usize>, TooMany> {
        match self {
            Self::Fixed(length) => Ok(Some(length)),
            Self::Counted { head, count, item, max } => {
                let Some(count) = count.read(message) else { return Ok(None) };
                if count > max { Err(TooMany) } else { Ok(Some(head + count * item)) }
            }
        }
    }
}

/// Number of items beyond the limit of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl Count {
    /// Returns the number, or `None` if its bytes have not arrived.
    fn read(self, message: &[u8]) -> Option<usize> {
        match self {
            Self::Byte(offset) => message.get(offset).map(|byte| usize::from(*byte)),
            Self::Short(offset) => {
                let bytes = message.get(offset..)?.first_chunk()?;
                Some(usize::from(u16::from_be_bytes(*bytes)))
            }
            Self::Signed(offset) => {
                let bytes = message.get(offset..)?.first_chunk()?;
                usize::try_from(i32::from_be_bytes(*bytes).unsigned_abs()).ok()
            }
        }
    }
}
