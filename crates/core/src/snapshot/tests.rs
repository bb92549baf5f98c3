use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Page with controls of all kinds, frames of the same and of another process, and shadow trees, as Chromium reported it.
const CONTROLS: &str = include_str!("fixtures/controls.json");

fn parts(text: &str) -> Vec<Part> {
    let captures: Vec<Value> = serde_json::from_str(text).expect("a fixture is JSON");
    let part = |capture: &Value| {
        let mut part = Part::default();
        part.documents = Document::parse_all(&capture["dom"]).expect("a capture");
        part.accessibility.add(&capture["ax"]);
        part.owner = capture["owner"].as_u64().map(|owner| (0, owner));
        part
    };
    captures.iter().map(part).collect()
}

fn show(parts: &[Part], options: &Options) -> String {
    let data = View::of(parts, options).expect("the node exists").to_data("http://shop.example.com/", |key| {
        Some(u32::try_from(key.part * 1000 + key.document * 500).unwrap() + u32::try_from(key.node).unwrap())
    });
    data["snapshot"].as_str().unwrap().to_owned()
}

#[test]
fn page_matches_golden() {
    insta::assert_snapshot!(show(&parts(CONTROLS), &Options::default()));
}

#[test]
fn interactive_view_matches_golden() {
    insta::assert_snapshot!(show(&parts(CONTROLS), &Options { is_interactive: true, ..Options::default() }));
}
