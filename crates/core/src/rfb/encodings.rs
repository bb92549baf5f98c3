//! Table of the encodings that a viewer may ask for.
//!
//! Encodings say how the screen is sent. Some of them are no encodings, but switch an extension on, with messages of its own.

use crate::rfb::messages::Access;

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
pub(super) fn is_allowed(encoding: i32, access: Access) -> bool {
    WATCH.iter().any(|(first, last)| (*first..=*last).contains(&encoding))
        || (access >= Access::Control && CONTROL.contains(&encoding))
}

/// Returns `SetEncodings` without the encodings that a viewer may not ask for.
pub(super) fn filtered(message: &[u8], access: Access) -> Vec<u8> {
    let (head, encodings) = message.split_at_checked(4).unwrap_or((message, &[]));
    let kept = encodings.as_chunks::<4>().0.iter().filter(|bytes| is_allowed(i32::from_be_bytes(**bytes), access));
    let kept: Vec<u8> = kept.flatten().copied().collect();
    let count = u16::try_from(kept.len() / 4).unwrap_or(u16::MAX);
    head.iter().take(2).copied().chain(count.to_be_bytes()).chain(kept).collect()
}
