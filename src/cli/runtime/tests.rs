use crate::cli::runtime::error::RuntimeError;
use crate::cli::runtime::setup::{check_distinct_ports, read_token};

#[test]
fn equal_ports_are_refused() {
    assert!(check_distinct_ports([8115, 8119, 9222]).is_ok() && check_distinct_ports([0, 0, 9222]).is_ok());
    for ports in [[1, 1, 2], [1, 2, 1], [2, 1, 1]] {
        assert!(matches!(check_distinct_ports(ports), Err(RuntimeError::SamePort(1))), "{ports:?}");
    }
}

#[test]
fn tokens_are_single_lines_of_minimum_length() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("token");
    for (text, ok) in [
        ("0123456789abcdef", true),
        ("0123456789abcdef\n", true),
        ("0123456789abcdef\r\n", true),
        ("", false),
        ("short\n", false),
        ("0123456789abcdef\n0123456789abcdef\n", false),
        ("0123456789 abcdef", false),
    ] {
        std::fs::write(&path, text).expect("written");
        assert_eq!(read_token(&path).ok().as_deref(), ok.then_some("0123456789abcdef"), "{text:?}");
    }
    assert!(read_token(&root.path().join("missing")).is_err() && read_token(root.path()).is_err());
}
