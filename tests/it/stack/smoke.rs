//! The smoke test of the built image, tested against the stand-in. The NixOS test runs it against the real container.
//! Here its own errors are found without the image.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use super::{
    super::e2e::hosts::SHOP,
    base::{Stack, StackKind},
    request::PORT,
    sharing::acquire,
};

fn smoke(arguments: &[&str]) -> Output {
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/image/smoke.py"));
    command.args([format!("http://127.0.0.1:{PORT}"), format!("http://{SHOP}/")]).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

fn assert_smoke_test_passes(stack: &Stack, arguments: &[&str]) {
    let _exclusive = stack.browser();
    stack.begin("smoke");
    let output = smoke(arguments);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.ends_with("smoke: everything works\n"), "{stdout}");
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn image_smoke_test_passes_without_credentials() {
    assert_smoke_test_passes(&acquire(StackKind::Open), &[]);
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn image_smoke_test_passes_with_credentials() {
    let stack = acquire(StackKind::Jwt);
    assert_smoke_test_passes(&stack, &["--key-file", &stack.key().file()]);
    // Control: a container that requires credentials fails the smoke test without them.
    let output = smoke(&[]);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stderr).contains("401"), "{output:?}");
}
