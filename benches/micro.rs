//! The pure steps of a call, each alone.
//!
//! `benches/compare` takes one figure from here, `literal_address`, by its name.

#![allow(missing_docs, reason = "a program, not a library")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a figure from a broken run is worse than none")]

use browser_shell::argv::{self, Dialect};
use browser_shell::output::{mask, truncate};
use browser_shell::policy::{Policy, Verdict, url};
use divan::{Bencher, black_box};
use serde_json::{Value, json};

/// The most characters of a reply's stdout.
const LIMIT: usize = 30_000;

fn main() {
    divan::main();
}

/// Parsing and deciding; no lookup, for the host is an address.
#[divan::bench(sample_size = 100)]
fn literal_address(bencher: Bencher) {
    decide(bencher, "http://93.184.215.14/path?query=1");
}

/// The same for an address that is refused.
#[divan::bench(sample_size = 100)]
fn private_address(bencher: Bencher) {
    decide(bencher, "http://[::ffff:10.0.0.1]/");
}

fn decide(bencher: Bencher, text: &str) {
    let policy = Policy::default();
    bencher.bench(|| {
        let target = url::parse(black_box(text)).unwrap();
        let Verdict::Decided(decision) = policy.check(&target) else { panic!("an address needs no lookup") };
        decision
    });
}

const COMMANDS: [&[&str]; 3] =
    [&["snapshot", "-i", "-c", "-d", "3", "-s", "#main"], &["fill", "@e1", "some text"], &["eval", "1"]];

#[divan::bench(sample_size = 100, args = COMMANDS)]
fn argv_grammar(bencher: Bencher, argv: &[&str]) {
    let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
    bencher.bench(|| argv::parse(Dialect::Tool, black_box(&argv), |_| false).is_ok());
}

/// One string of a megabyte: the text of a long page.
#[divan::bench]
fn cut_one_long_string(bencher: Bencher) {
    cut(bencher, &json!({"text": "A line of the page.\n".repeat(50_000), "origin": "https://example.com/"}));
}

/// A megabyte in many small values: the references of a long page.
#[divan::bench]
fn cut_many_small_values(bencher: Bencher) {
    let entry = |n: usize| (format!("e{n}"), json!({"name": format!("Entry {n}"), "role": "link"}));
    cut(bencher, &json!({"refs": (0..25_000).map(entry).collect::<serde_json::Map<_, _>>()}));
}

fn cut(bencher: Bencher, value: &Value) {
    bencher.bench(|| truncate::json(black_box(value), LIMIT));
}

/// What every small answer pays.
#[divan::bench(sample_size = 10)]
fn mask_a_short_answer(bencher: Bencher) {
    let value = json!({"title": "A page", "url": "https://example.com/path?query=1"});
    bencher.with_inputs(|| value.clone()).bench_refs(mask::json);
}

/// A whole reply of ordinary text, with nothing to mask.
#[divan::bench]
fn mask_30k_of_text(bencher: Bencher) {
    mask_text(bencher, "- link \"Entry\" [ref=e12]: https://example.com/path?query=1\n");
}

/// A whole reply of nothing but secrets.
#[divan::bench]
fn mask_30k_of_secrets(bencher: Bencher) {
    mask_text(bencher, "password=hunter2 Bearer abcdef0123456789 https://user:hunter2@example.com/\n");
}

fn mask_text(bencher: Bencher, line: &str) {
    let mut text = line.repeat(LIMIT / line.len() + 1);
    text.truncate(LIMIT);
    bencher.bench(|| mask::text(black_box(&text)).len());
}
