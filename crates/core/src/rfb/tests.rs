use proptest::prelude::*;

use super::messages::{MESSAGES, is_allowed_encoding};
use super::{Access, RfbError, ViewerParser, *};

const HANDSHAKE: &[u8] = b"RFB 003.008\n\x01\x00";
const SHARED_HANDSHAKE: &[u8] = b"RFB 003.008\n\x01\x01";

/// Reads a viewer's bytes in pieces of a size, and returns what is passed on.
fn read_in_pieces(access: Access, bytes: &[u8], size: usize) -> (Vec<u8>, Result<(), RfbError>) {
    let mut parser = ViewerParser::new(access);
    let mut passed = Vec::new();
    for piece in bytes.chunks(size) {
        if let Err(error) = parser.read(piece, &mut passed) {
            return (passed, Err(error));
        }
    }
    (passed, Ok(()))
}

/// Returns what is passed on of messages after the handshake.
fn passed(access: Access, messages: &[u8]) -> Result<Vec<u8>, RfbError> {
    let (passed, result) = read_in_pieces(access, &[HANDSHAKE, messages].concat(), usize::MAX);
    result.map(|()| passed.strip_prefix(SHARED_HANDSHAKE).expect("the handshake").to_vec())
}

fn encodings(list: &[i32]) -> Vec<u8> {
    let count = u16::try_from(list.len()).expect("a short list");
    [&[2, 0][..], &count.to_be_bytes(), &list.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<_>>()]
        .concat()
}

fn key() -> Vec<u8> {
    vec![4, 1, 0, 0, 0, 0, 0, b'a']
}

fn update() -> Vec<u8> {
    vec![3, 1, 0, 0, 0, 0, 5, 0, 3, 32]
}

fn cut_text(length: i32, bytes: usize) -> Vec<u8> {
    [&[6, 0, 0, 0][..], &length.to_be_bytes(), &vec![b'x'; bytes]].concat()
}

#[test]
fn input_is_passed_on_with_control_and_left_out_when_watching() {
    let size = [&[251, 0, 5, 0, 3, 32, 1, 0][..], &[0; 16]].concat();
    for input in [key(), vec![5, 1, 0, 9, 0, 9], cut_text(3, 3), cut_text(-7, 7), size] {
        let sent = [update(), input, update()].concat();
        assert_eq!(passed(Access::Control, &sent).as_ref(), Ok(&sent), "control");
        assert_eq!(passed(Access::Watch, &sent), Ok([update(), update()].concat()), "{sent:?}");
    }
}

#[test]
fn display_gets_no_middle_button() {
    let pointer = |buttons| vec![5, buttons, 0, 9, 0, 9];
    for others in [0, 1, 4, 5, 8, 0x7d] {
        assert_eq!(passed(Access::Control, &pointer(others)), Ok(pointer(others)), "control");
        assert_eq!(passed(Access::Control, &pointer(others | 2)), Ok(pointer(others)));
    }
}

#[test]
fn pressed_buttons_are_released_where_the_pointer_is() {
    let mut parser = ViewerParser::new(Access::Control);
    let mut released_after = |bytes: &[u8]| {
        parser.read(bytes, &mut Vec::new()).expect("known messages");
        parser.release()
    };
    assert_eq!(released_after(HANDSHAKE), None);
    assert_eq!(released_after(&[5, 1, 0, 9, 1, 8]), Some([5, 0, 0, 9, 1, 8]));
    assert_eq!(released_after(&[5, 4, 0, 7]), Some([5, 0, 0, 9, 1, 8]), "a part of a message is none");
    assert_eq!(released_after(&[0, 6]), Some([5, 0, 0, 7, 0, 6]));
    assert_eq!(released_after(&key()), Some([5, 0, 0, 7, 0, 6]));
    assert_eq!(released_after(&[5, 0, 0, 1, 0, 1]), None);
    assert_eq!(released_after(&[5, 2, 0, 1, 0, 1]), None, "a display gets no middle button");
    let mut watching = ViewerParser::new(Access::Watch);
    watching.read(&[HANDSHAKE, &[5, 1, 0, 9, 1, 8]].concat(), &mut Vec::new()).expect("known messages");
    assert_eq!(watching.release(), None);
}

#[test]
fn every_viewer_may_ask_for_the_screen() {
    let format = [&[0, 0, 0, 0][..], &[7; 16]].concat();
    let fence = [&[248, 0, 0, 0, 0x80, 0, 0, 1, 2][..], &[9, 9]].concat();
    for message in [format, update(), vec![150, 1, 0, 0, 0, 0, 5, 0, 3, 32], fence, encodings(&[7, -239, -313])] {
        for access in [Access::Watch, Access::Control] {
            assert_eq!(passed(access, &message).as_ref(), Ok(&message));
        }
    }
}

#[test]
fn unknown_message_ends_the_connection() {
    let known: Vec<u8> = MESSAGES.iter().map(|rule| rule.kind).collect();
    assert_eq!(known, [0, 2, 3, 4, 5, 6, 150, 248, 251]);
    for kind in (0..=u8::MAX).filter(|kind| !known.contains(kind)) {
        for access in [Access::Watch, Access::Control] {
            assert_eq!(passed(access, &[kind, 0, 0, 0]), Err(RfbError::UnknownMessage(kind)));
        }
    }
}

#[test]
fn encodings_that_enable_input_are_taken_out() {
    let clipboard = 0xC0A1_E5CE_u32.cast_signed();
    // Size, clipboard, xvp, keys and audio of QEMU, general input, and a number that nobody has.
    let asked = encodings(&[7, -308, clipboard, -309, -258, -259, -305, -313, 12_345]);
    assert_eq!(passed(Access::Watch, &asked), Ok(encodings(&[7, -313])));
    assert_eq!(passed(Access::Control, &asked), Ok(encodings(&[7, -308, clipboard, -313])));
    assert_eq!(passed(Access::Watch, &encodings(&[])), Ok(encodings(&[])));
    for encoding in [-32, -23, -256, -247, 0, 16, -223, -224, -314] {
        assert!(is_allowed_encoding(encoding, Access::Watch), "{encoding}");
    }
}

#[test]
fn messages_longer_than_their_limits_end_the_connection() {
    for (sent, kind) in [
        (cut_text(256 * 1024 + 1, 0), 6),
        (cut_text(i32::MAX, 0), 6),
        (cut_text(i32::MIN, 0), 6),
        ([2, 0, 1, 1].to_vec(), 2),
        (vec![248, 0, 0, 0, 0, 0, 0, 0, 65], 248),
        (vec![251, 0, 0, 0, 0, 0, 17, 0], 251),
    ] {
        for access in [Access::Watch, Access::Control] {
            assert_eq!(passed(access, &sent), Err(RfbError::TooLong(kind)), "{sent:?}");
        }
    }
    let longest = cut_text(256 * 1024, 256 * 1024);
    assert_eq!(passed(Access::Control, &longest), Ok(longest), "control");
}

#[test]
fn handshake_is_checked_and_always_shares_the_screen() {
    let handshake = |bytes: &[u8]| read_in_pieces(Access::Watch, bytes, 1);
    for init in [0, 1, 255] {
        let sent = [&b"RFB 003.008\n\x01"[..], &[init]].concat();
        assert_eq!(handshake(&sent), (SHARED_HANDSHAKE.to_vec(), Ok(())));
    }
    assert_eq!(handshake(b"RFB 003.003\n\x00\x03").0, b"RFB 003.003\n\x01", "the screen chooses the security type");
    for version in [b"RFB 003.889\n", b"RFB 004.001\n", b"GET / HTTP/1", b"RFB 003.008\r"] {
        assert_eq!(handshake(version), (Vec::new(), Err(RfbError::Version)));
    }
    for kind in [0, 2, 16, 19, 255] {
        let (passed, result) = handshake(&[&b"RFB 003.008\n"[..], &[kind]].concat());
        assert_eq!((passed.len(), result), (12, Err(RfbError::SecurityType(kind))));
    }
}

#[test]
fn incomplete_message_is_held_until_it_is_whole() {
    let mut parser = ViewerParser::new(Access::Control);
    let mut passed = Vec::new();
    parser.read(HANDSHAKE, &mut passed).expect("read");
    passed.clear();
    let whole = cut_text(100, 100);
    let (first, rest) = whole.split_at(50);
    parser.read(first, &mut passed).expect("read");
    assert!(passed.is_empty());
    parser.read(rest, &mut passed).expect("read");
    assert_eq!(passed, whole);
}

proptest! {
    #[test]
    fn pieces_give_the_same_result(bytes in prop::collection::vec(any::<u8>(), 0..400), size in 1_usize..40) {
        let sent = [HANDSHAKE, &bytes].concat();
        for access in [Access::Watch, Access::Control] {
            let whole = read_in_pieces(access, &sent, usize::MAX);
            prop_assert_eq!(&read_in_pieces(access, &sent, size), &whole);
        }
    }

    #[test]
    fn watching_passes_nothing_that_control_does_not(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let sent = [HANDSHAKE, &bytes].concat();
        let (watched, first) = read_in_pieces(Access::Watch, &sent, usize::MAX);
        let (controlled, second) = read_in_pieces(Access::Control, &sent, usize::MAX);
        prop_assert_eq!(first, second);
        prop_assert!(watched.len() <= controlled.len());
    }
}

const HELLO: &[u8] = b"RFB 003.008\n\x01\x01";

fn read(access: Access, bytes: &[u8]) -> (Vec<ViewerMessage>, Result<(), RfbError>) {
    let mut reader = ViewerReader::new(access);
    let mut messages = Vec::new();
    for byte in bytes.chunks(1) {
        if let Err(error) = reader.read(byte, &mut messages) {
            return (messages, Err(error));
        }
    }
    (messages, Ok(()))
}

/// Returns the messages after the handshake.
fn after_handshake(access: Access, messages: &[u8]) -> (Vec<ViewerMessage>, Result<(), RfbError>) {
    let (mut read, result) = read(access, &[HELLO, messages].concat());
    assert_eq!(
        read.drain(..3).collect::<Vec<_>>(),
        [ViewerMessage::Version, ViewerMessage::SecurityType, ViewerMessage::Init]
    );
    (read, result)
}

#[test]
fn input_is_read_from_viewers_with_control_only() {
    let sent = [&[4, 1, 0, 0, 0, 0, 0xff, 0x0d][..], &[5, 1, 1, 2, 0, 7], &[3, 1, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    let input =
        [ViewerMessage::Key { is_down: true, symbol: 0xff0d }, ViewerMessage::Pointer { buttons: 1, x: 258, y: 7 }];
    let request = ViewerMessage::UpdateRequest { is_incremental: true };
    let all = [&input[..], &[request]].concat();
    assert_eq!(after_handshake(Access::Control, &sent), (all, Ok(())), "control");
    assert_eq!(after_handshake(Access::Watch, &sent), (vec![request], Ok(())));
}

#[test]
fn middle_button_is_read_where_no_display_pastes() {
    let (read, result) = after_handshake(Access::Control, &[5, 7, 0, 1, 0, 2]);
    assert_eq!((read, result), (vec![ViewerMessage::Pointer { buttons: 7, x: 1, y: 2 }], Ok(())));
}

#[test]
fn jpeg_needs_tight_and_a_quality() {
    let encodings = |numbers: &[i32]| {
        let count = u8::try_from(numbers.len()).expect("few");
        let list: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        match after_handshake(Access::Watch, &[&[2, 0, 0, count][..], &list].concat()).0.as_slice() {
            [ViewerMessage::Encodings(encodings)] => *encodings,
            other => panic!("{other:?}"),
        }
    };
    let all = ViewerEncodings { has_jpeg: true, has_size: true, has_name: true };
    assert_eq!(encodings(&[0, 7, -26, -223, -307]), all);
    for incomplete in [&[0, 7][..], &[-26], &[0, 5, 16]] {
        assert_eq!(encodings(incomplete), ViewerEncodings::default(), "{incomplete:?}");
    }
}

#[test]
fn other_versions_and_pixel_formats_end_the_connection() {
    assert_eq!(read(Access::Watch, b"RFB 003.003\n").1, Err(RfbError::Version));
    let format = |bits: u8, is_true: u8| [&[0, 0, 0, 0, bits, 24, 0, is_true][..], &[0; 12]].concat();
    assert_eq!(after_handshake(Access::Watch, &format(32, 1)), (vec![ViewerMessage::Other], Ok(())), "control");
    for format in [format(8, 1), format(32, 0)] {
        assert_eq!(after_handshake(Access::Watch, &format).1, Err(RfbError::PixelFormat));
    }
    let (messages, result) = after_handshake(Access::Control, &[4, 1, 0, 0, 0, 0, 0, 97, 255]);
    assert_eq!((messages.len(), result), (1, Err(RfbError::UnknownMessage(255))));
}
