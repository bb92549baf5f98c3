//! Cutting what is too long for a reply (spec [1.7]).
//!
//! Decides what goes when something must go: of data, the longest strings shrink first and the result stays valid JSON; only
//! when there are too many values do lists and objects lose their tails. Every cut leaves a mark that says how much went.
//! Must never change what already fits, and never return more than the limit.

use serde_json::{Map, Value};

/// No string is cut below this many characters, so that its mark always fits.
const LEAST_STRING: usize = 48;

/// Cuts a text to at most `limit` characters, the mark included.
#[must_use]
pub fn text(text: &str, limit: usize) -> String {
    let total = text.chars().count();
    if total <= limit {
        return text.to_owned();
    }
    let mark = |cut: usize| format!("\n[... {cut} characters cut]");
    // The mark is longest when everything goes.
    let keep = limit.saturating_sub(mark(total).len());
    let marked = format!("{}{}", prefix(text, keep), mark(total - keep));
    prefix(&marked, limit).to_owned()
}

/// Serialises data to one line of at most `limit` characters, which should be 64 or more.
#[must_use]
pub fn json(value: &Value, limit: usize) -> String {
    let whole = value.to_string();
    let total = whole.chars().count();
    if total <= limit {
        return whole;
    }
    if let Some(level) = string_level(value, limit) {
        return cut_strings(value, level).to_string();
    }
    // Too many values for short strings to be enough: keep as many children of each container as fit.
    let (mut fits, mut too_many) = (0, widest(value));
    while fits < too_many {
        let middle = fits + (too_many - fits).div_ceil(2);
        if string_level(&keep_children(value, middle), limit).is_some() {
            fits = middle;
        } else {
            too_many = middle - 1;
        }
    }
    let pruned = keep_children(value, fits);
    match string_level(&pruned, limit) {
        Some(level) => cut_strings(&pruned, level).to_string(),
        None => Value::from(format!("[{total} characters cut]")).to_string(),
    }
}

/// The first `count` characters.
fn prefix(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

/// How many characters one character takes inside a JSON string.
const fn escaped_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if (c as u32) < 0x20 => 6,
        _ => 1,
    }
}

fn escaped(text: &str) -> usize {
    text.chars().map(escaped_len).sum()
}

/// The greatest length to which all longer strings can be cut so that the whole fits; `None` if no such length is enough.
fn string_level(value: &Value, limit: usize) -> Option<usize> {
    let mut lengths = Vec::new();
    let structure = measure(value, &mut lengths);
    let mut room = limit.checked_sub(structure)?;
    lengths.sort_unstable();
    // Fill up from the shortest string: those that fit into an equal share of the room keep all they have.
    for (done, length) in lengths.iter().enumerate() {
        let share = room / (lengths.len() - done);
        if *length > share {
            return (share >= LEAST_STRING).then_some(share);
        }
        room -= length;
    }
    Some(usize::MAX)
}

/// Characters of everything but the contents of string values, which go to `lengths`.
fn measure(value: &Value, lengths: &mut Vec<usize>) -> usize {
    match value {
        Value::String(text) => {
            lengths.push(escaped(text));
            2
        }
        Value::Array(items) => {
            2 + items.len().saturating_sub(1) + items.iter().map(|item| measure(item, lengths)).sum::<usize>()
        }
        Value::Object(members) => {
            2 + members.len().saturating_sub(1)
                + members.iter().map(|(name, item)| 3 + escaped(name) + measure(item, lengths)).sum::<usize>()
        }
        scalar => scalar.to_string().len(),
    }
}

/// Cuts every string that is longer than `level` when escaped.
fn cut_strings(value: &Value, level: usize) -> Value {
    match value {
        Value::String(text) => Value::String(cut_string(text, level)),
        Value::Array(items) => Value::Array(items.iter().map(|item| cut_strings(item, level)).collect()),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, item)| (name.clone(), cut_strings(item, level))).collect())
        }
        scalar => scalar.clone(),
    }
}

fn cut_string(text: &str, level: usize) -> String {
    if escaped(text) <= level {
        return text.to_owned();
    }
    let total = text.chars().count();
    let mark = |cut: usize| format!("[... {cut} characters cut]");
    let mut room = level.saturating_sub(mark(total).len());
    let mut kept = String::new();
    let mut count = 0;
    for c in text.chars() {
        let Some(left) = room.checked_sub(escaped_len(c)) else { break };
        room = left;
        kept.push(c);
        count += 1;
    }
    kept.push_str(&mark(total - count));
    kept
}

/// The greatest number of children of any container.
fn widest(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(widest).max().unwrap_or(0).max(items.len()),
        Value::Object(members) => members.values().map(widest).max().unwrap_or(0).max(members.len()),
        _ => 0,
    }
}

/// Keeps the first `count` children of every container and cuts long member names.
fn keep_children(value: &Value, count: usize) -> Value {
    let mark = |cut: usize| Value::from(format!("[... {cut} more cut]"));
    match value {
        Value::Array(items) => {
            let mut kept: Vec<_> = items.iter().take(count).map(|item| keep_children(item, count)).collect();
            if items.len() > count {
                kept.push(mark(items.len() - count));
            }
            Value::Array(kept)
        }
        Value::Object(members) => {
            let mut kept: Map<_, _> = members
                .iter()
                .take(count)
                .map(|(name, item)| (cut_string(name, LEAST_STRING), keep_children(item, count)))
                .collect();
            if members.len() > count {
                kept.insert("...".to_owned(), mark(members.len() - count));
            }
            Value::Object(kept)
        }
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn spec_1_7_text_is_cut_on_character_boundaries_with_a_mark() {
        assert_eq!(text("abc", 3), "abc");
        let cut = text(&"\u{1f600}".repeat(100), 50);
        assert_eq!(cut, format!("{}\n[... 75 characters cut]", "\u{1f600}".repeat(25)));
        assert_eq!(text(&"x".repeat(100), 5).chars().count(), 5, "a limit that is too small for the mark still holds");
    }

    #[test]
    fn spec_1_7_the_longest_strings_shrink_first() {
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

    #[test]
    fn spec_1_7_long_lists_lose_their_tails() {
        let cut: Value = serde_json::from_str(&json(&json!((0..10_000).collect::<Vec<_>>()), 500)).expect("valid JSON");
        let items = cut.as_array().expect("an array");
        assert_eq!(items[0], 0);
        assert!(items.last().and_then(Value::as_str).expect("a mark").ends_with("more cut]"));
        assert!(items.len() > 50, "as much is kept as fits");
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
        #[test]
        fn spec_1_7_data_stays_valid_json_within_the_limit(value in value(), limit in 64usize..3000) {
            let line = json(&value, limit);
            prop_assert!(line.chars().count() <= limit, "{} > {limit}", line.chars().count());
            let parsed: Value = serde_json::from_str(&line).expect("valid JSON");
            if value.to_string().chars().count() <= limit {
                prop_assert_eq!(parsed, value, "what fits is not touched");
            } else {
                prop_assert!(line.contains(" cut]"), "a cut leaves a mark");
            }
        }

        #[test]
        fn spec_1_7_text_stays_within_the_limit(input in any::<String>(), limit in 0usize..200) {
            let cut = text(&input, limit);
            prop_assert!(cut.chars().count() <= limit);
            if input.chars().count() <= limit {
                prop_assert_eq!(cut, input);
            }
        }

        #[test]
        fn the_measure_is_exact(value in value()) {
            let mut lengths = Vec::new();
            let structure = measure(&value, &mut lengths);
            prop_assert_eq!(structure + lengths.iter().sum::<usize>(), value.to_string().chars().count());
        }
    }
}
