use super::*;
use proptest::prelude::*;
use serde_json::json;

// Requirement 1.7.
#[test]
fn text_is_truncated_on_character_boundary_with_marker() {
    assert_eq!(text("abc", 3), "abc");
    let cut = text(&"\u{1f600}".repeat(100), 50);
    assert_eq!(cut, format!("{}\n[... 75 characters cut]", "\u{1f600}".repeat(25)));
    assert_eq!(text(&"x".repeat(100), 5).chars().count(), 5, "the limit holds even if it is too small for the marker");
}

// Requirement 1.7.
#[test]
fn longest_strings_are_truncated_first() {
    let data = json!({"title": "Shop", "snapshot": "line\n".repeat(2000), "refs": {"e1": {"role": "button", "name": "x".repeat(3000)}}});
    let cut: Value = serde_json::from_str(&json(&data, 1000)).expect("valid JSON");
    assert_eq!(cut["title"], "Shop");
    assert_eq!(cut["refs"]["e1"]["role"], "button");
    let (snapshot, name) =
        (cut["snapshot"].as_str().expect("a string"), cut["refs"]["e1"]["name"].as_str().expect("a string"));
    assert!(snapshot.contains("characters cut]") && name.contains("characters cut]"));
    let only_one: Value = serde_json::from_str(&json(&data, 7000)).expect("valid JSON");
    assert_eq!(only_one["refs"]["e1"]["name"].as_str().map(str::len), Some(3000), "the shorter string is whole");
}

// Requirement 1.7.
#[test]
fn long_lists_are_truncated_at_the_end() {
    let cut: Value = serde_json::from_str(&json(&json!((0..10_000).collect::<Vec<_>>()), 500)).expect("valid JSON");
    let items = cut.as_array().expect("an array");
    assert_eq!(items[0], 0);
    assert!(items.last().and_then(Value::as_str).expect("a marker").ends_with("more cut]"));
    assert!(items.len() > 50, "it keeps as much as fits");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a\"\\\\\n\u{1}\u{1f600}]{0,400}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 200, 30, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..30).prop_map(Value::from),
            proptest::collection::vec((any::<String>(), inner), 0..30)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    // Requirement 1.7.
    #[test]
    fn truncated_data_is_valid_json_within_limit(value in value(), limit in 64usize..3000) {
        let line = json(&value, limit);
        prop_assert!(line.chars().count() <= limit, "{} > {limit}", line.chars().count());
        let parsed: Value = serde_json::from_str(&line).expect("valid JSON");
        if value.to_string().chars().count() <= limit {
            prop_assert_eq!(parsed, value, "a value that fits is unchanged");
        } else {
            prop_assert!(line.contains(" cut]"), "a cut leaves a marker");
        }
    }

    // Requirement 1.7.
    #[test]
    fn truncated_text_stays_within_limit(input in any::<String>(), limit in 0usize..200) {
        let cut = text(&input, limit);
        prop_assert!(cut.chars().count() <= limit);
        if input.chars().count() <= limit {
            prop_assert_eq!(cut, input);
        }
    }

    #[test]
    fn measured_length_equals_serialized_length(value in value()) {
        let mut measure = Measure { max_children: None, limit: 1_000_000, room: 1_000_000, lengths: Vec::new() };
        prop_assert!(measure.add(&value).is_some());
        let structure = 1_000_000 - measure.room;
        prop_assert_eq!(structure + measure.lengths.iter().sum::<usize>(), value.to_string().chars().count());
    }
}
