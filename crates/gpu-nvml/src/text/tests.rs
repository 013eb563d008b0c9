//! Whatever bytes the driver writes, the text is printable and no longer than the buffer allows.

use proptest::prelude::*;

use super::{ROOM, decode};

#[track_caller]
fn check(bytes: &[u8], expected: Option<&str>) {
    assert_eq!(decode(bytes).as_deref(), expected);
}

#[test]
fn texts_end_at_the_first_nul_or_at_the_end() {
    check(b"Tesla T4\0garbage", Some("Tesla T4"));
    check(b"no end", Some("no end"));
    check(b"  padded  \0", Some("padded"));
    check(b"\0rest", None);
    check(b"", None);
    check(b"   \0", None);
    check(b"a\x1b[2Jb\0", Some("a\u{FFFD}[2Jb"));
    check(&[0xFE; 4], Some("\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"));
}

proptest! {
    #[test]
    fn any_bytes_give_a_bounded_printable_text(bytes in proptest::collection::vec(any::<u8>(), 0..ROOM)) {
        if let Some(text) = decode(&bytes) {
            prop_assert!(!text.is_empty());
            // A byte becomes at most the three bytes of the replacement character.
            prop_assert!(text.len() <= 3 * bytes.len());
            prop_assert!(!text.chars().any(char::is_control));
        }
    }
}
