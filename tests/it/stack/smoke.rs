//! The script that tries the built image, tried itself: the NixOS test runs it against the real container, and here it runs
//! against the stand-in, so that a mistake in it does not wait for a machine that has the image.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use super::{
    super::e2e::hosts::SHOP,
    base::{Kind, Stack, enter},
    request::PORT,
};

fn smoke(arguments: &[&str]) -> Output {
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/image/smoke.py"));
    command.args([format!("http://127.0.0.1:{PORT}"), format!("http://{SHOP}/")]).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

fn works(stack: &Stack, arguments: &[&str]) {
    let _turn = stack.browser();
    stack.begin("smoke");
    let output = smoke(arguments);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.ends_with("smoke: everything works\n"), "{said}");
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn the_images_test_passes_without_credentials() {
    works(&enter(Kind::Open), &[]);
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn the_images_test_passes_with_credentials() {
    let stack = enter(Kind::Jwt);
    works(&stack, &["--key-file", &stack.key().file()]);
    // the control: a container that asks for credentials is not taken for one that does not
    let output = smoke(&[]);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stderr).contains("401"), "{output:?}");
}
