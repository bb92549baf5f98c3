//! Microbenchmarks of the pure steps of a call.
//!
//! `benches/compare` reads the figure of `literal_address` by name.

#![allow(missing_docs, reason = "a program, not a library")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a figure from a broken run is worse than none")]

use browser_shell_core::grammar::{self, Profile};
use browser_shell_core::output::{mask, truncate};
use browser_shell_core::policy::{Evaluation, Policy, url};
use divan::{Bencher, black_box};
use serde_json::{Value, json};

/// Limit of a reply's stdout in characters.
const LIMIT: usize = 30_000;

fn main() {
    divan::main();
}

/// Parses a URL with an address and decides. No lookup is needed.
#[divan::bench(sample_size = 100)]
fn literal_address(bencher: Bencher) {
    decide(bencher, "http://93.184.215.14/path?query=1");
}

/// Decides about a refused address.
#[divan::bench(sample_size = 100)]
fn private_address(bencher: Bencher) {
    decide(bencher, "http://[::ffff:10.0.0.1]/");
}

fn decide(bencher: Bencher, text: &str) {
    let policy = Policy::default();
    bencher.bench(|| {
        let target = url::parse(black_box(text)).unwrap();
        let Evaluation::Decided(decision) = policy.check(&target) else { panic!("an address needs no lookup") };
        decision
    });
}

const COMMANDS: [&[&str]; 3] =
    [&["snapshot", "-i", "-c", "-d", "3", "-s", "#main"], &["fill", "@e1", "some text"], &["eval", "1"]];

#[divan::bench(sample_size = 100, args = COMMANDS)]
fn argv_grammar(bencher: Bencher, argv: &[&str]) {
    let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
    bencher.bench(|| grammar::parse(Profile::Tool, black_box(&argv), |_| false).is_ok());
}

/// Truncates one string of a megabyte: the text of a long page.
#[divan::bench]
fn cut_one_long_string(bencher: Bencher) {
    cut(bencher, &json!({"text": "A line of the page.\n".repeat(50_000), "origin": "https://example.com/"}));
}

/// Truncates a megabyte in many small values: the references of a long page.
#[divan::bench]
fn cut_many_small_values(bencher: Bencher) {
    let entry = |n: usize| (format!("e{n}"), json!({"name": format!("Entry {n}"), "role": "link"}));
    cut(bencher, &json!({"refs": (0..25_000).map(entry).collect::<serde_json::Map<_, _>>()}));
}

fn cut(bencher: Bencher, value: &Value) {
    bencher.bench(|| truncate::json(black_box(value), LIMIT));
}

/// Masks a small reply.
#[divan::bench(sample_size = 10)]
fn mask_a_short_answer(bencher: Bencher) {
    let value = json!({"title": "A page", "url": "https://example.com/path?query=1"});
    bencher.with_inputs(|| value.clone()).bench_refs(mask::json);
}

/// Masks a full-size reply of ordinary text without secrets.
#[divan::bench]
fn mask_30k_of_text(bencher: Bencher) {
    mask_text(bencher, "- link \"Entry\" [ref=e12]: https://example.com/path?query=1\n");
}

/// Masks a full-size reply that consists of secrets.
#[divan::bench]
fn mask_30k_of_secrets(bencher: Bencher) {
    mask_text(bencher, "password=hunter2 Bearer abcdef0123456789 https://user:hunter2@example.com/\n");
}

fn mask_text(bencher: Bencher, line: &str) {
    let mut text = line.repeat(LIMIT / line.len() + 1);
    text.truncate(LIMIT);
    bencher.bench(|| mask::text(black_box(&text)).len());
}
