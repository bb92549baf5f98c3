//! Size of a JPEG, without decoding it.

/// Returns the width and the height of a JPEG, or `None` if the bytes are not one (ITU-T T.81, annex B).
#[must_use]
pub fn jpeg_size(bytes: &[u8]) -> Option<(u16, u16)> {
    let mut rest = bytes.strip_prefix(&[0xff, 0xd8])?;
    loop {
        let ([0xff, marker, high, low], _) = rest.split_first_chunk::<4>()? else { return None };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let segment = rest.get(2..)?;
        // Frames, but neither tables nor the arithmetic conditioning that have numbers between them.
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            // Its length, the bits of a sample, the height and the width.
            let [_, _, _, high, low, left, right] = segment.first_chunk::<7>()?;
            let size = (u16::from_be_bytes([*left, *right]), u16::from_be_bytes([*high, *low]));
            return (size.0 > 0 && size.1 > 0).then_some(size);
        }
        // The length counts its own two bytes.
        rest = segment.get(length.max(2)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_is_in_the_frame_after_other_segments() {
        let start = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc4, 0, 3, 9];
        let frame = [0xff, 0xc0, 0, 17, 8, 0x03, 0x20, 0x05, 0x00, 3];
        let jpeg = [&start[..], &frame].concat();
        assert_eq!(jpeg_size(&jpeg), Some((1280, 800)));
        for length in 0..jpeg.len() - 1 {
            assert_eq!(jpeg_size(&jpeg[..length]), None, "{length}");
        }
        for other in [&b"\x89PNG\r\n\x1a\n\0\0\0\0"[..], &[0xff, 0xd8, 0, 0, 0, 0], &[]] {
            assert_eq!(jpeg_size(other), None);
        }
    }
}
