//! Tables of the messages that a viewer may send, and of the encodings that it may ask for.
//!
//! Encodings say how the screen is sent. Some of them are no encodings, but switch an extension on, with messages of its own.

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

/// Type of `PointerEvent`.
pub(super) const POINTER_EVENT: u8 = 5;

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
    MessageRule { treatment: Treatment::FilterButtons, ..row(POINTER_EVENT, Access::Control, Length::Fixed(6)) },
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

/// Changes of the desktop's size.
pub(super) const DESKTOP_SIZE: i32 = -223;

/// Changes of the desktop's name.
pub(super) const DESKTOP_NAME: i32 = -307;

/// Encodings that need only [`Access::Watch`], as ranges.
const WATCH: &[(i32, i32)] = &[
    // Raw, CopyRect, RRE, CoRRE, Hextile, Zlib, Tight, ZRLE, JPEG, H.264
    (0, 2),
    (4, 7),
    (16, 16),
    (21, 21),
    (50, 50),
    // Tight with PNG
    (-260, -260),
    // JPEG quality, fine JPEG quality with subsampling, compression
    (-32, -23),
    (-768, -763),
    (-512, -412),
    (-256, -247),
    // Sizes of the desktop that the screen chooses, last rectangle, forms of the pointer, its position
    (-223, -223),
    (-224, -224),
    (-232, -232),
    (-240, -239),
    (-314, -314),
    (0x574d_5664, 0x574d_5664),
    // Lights of the keyboard, name of the desktop
    (-261, -261),
    (-307, -307),
    // Fences and continuous updates, with messages 248 and 150
    (-313, -312),
];

/// Encodings that need [`Access::Control`], because messages with input follow them.
const CONTROL: &[i32] = &[
    // Sizes of the desktop that the viewer chooses, with message 251
    -308,
    // Extended clipboard, with message 6
    0xC0A1_E5CE_u32.cast_signed(),
];

/// Returns true if a viewer with this access may ask for an encoding. All others would switch on an extension whose messages are
/// not passed on, such as xvp (-309) and the keys of QEMU (-258), or are unknown.
pub(super) fn is_allowed_encoding(encoding: i32, access: Access) -> bool {
    WATCH.iter().any(|(first, last)| (*first..=*last).contains(&encoding))
        || (access >= Access::Control && CONTROL.contains(&encoding))
}

/// Returns `SetEncodings` without the encodings that a viewer may not ask for.
pub(super) fn filter_encodings(message: &[u8], access: Access) -> Vec<u8> {
    let (head, encodings) = message.split_at_checked(4).unwrap_or((message, &[]));
    let kept =
        encodings.as_chunks::<4>().0.iter().filter(|bytes| is_allowed_encoding(i32::from_be_bytes(**bytes), access));
    let kept: Vec<u8> = kept.flatten().copied().collect();
    let count = u16::try_from(kept.len() / 4).unwrap_or(u16::MAX);
    head.iter().take(2).copied().chain(count.to_be_bytes()).chain(kept).collect()
}
