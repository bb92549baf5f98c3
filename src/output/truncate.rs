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
///
/// The work is bounded by the limit, not by the size of the data, but for counting the characters of its strings.
#[must_use]
pub fn json(value: &Value, limit: usize) -> String {
    match string_level(value, None, limit) {
        Some(usize::MAX) => return value.to_string(),
        Some(level) => return cut(value, None, level).to_string(),
        None => {}
    }
    // Too many values for short strings to be enough: keep as many children of each container as fit. Each takes two
    // characters or more.
    let (mut fits, mut too_many) = (0, widest(value).min(limit / 2));
    while fits < too_many {
        let middle = fits + (too_many - fits).div_ceil(2);
        if string_level(value, Some(middle), limit).is_some() {
            fits = middle;
        } else {
            too_many = middle - 1;
        }
    }
    match string_level(value, Some(fits), limit) {
        Some(level) => cut(value, Some(fits), level).to_string(),
        None => Value::from(format!("[{} characters cut]", value.to_string().chars().count())).to_string(),
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

/// The same, but not counted much further than `limit`.
fn escaped_up_to(text: &str, limit: usize) -> usize {
    let mut length = 0;
    for c in text.chars() {
        length += escaped_len(c);
        if length > limit {
            break;
        }
    }
    length
}

/// The greatest length to which all longer strings can be cut so that the whole fits; `None` if no such length is enough, and
/// `usize::MAX` if nothing must be cut. With `most`, only so many children of each container count.
fn string_level(value: &Value, most: Option<usize>, limit: usize) -> Option<usize> {
    let mut measure = Measure { most, limit, room: limit, lengths: Vec::new() };
    measure.add(value)?;
    let Measure { mut room, mut lengths, .. } = measure;
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

/// Measures data, and stops as soon as there is no room left.
struct Measure {
    most: Option<usize>,
    limit: usize,
    /// Characters left of the limit when everything but the contents of string values is taken off.
    room: usize,
    /// Lengths of the string values.
    lengths: Vec<usize>,
}

impl Measure {
    fn take(&mut self, characters: usize) -> Option<()> {
        self.room = self.room.checked_sub(characters)?;
        Some(())
    }

    fn add(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::String(text) => self.add_string(text),
            Value::Array(items) => {
                let shown = self.shown(items.len());
                self.take(2 + shown.saturating_sub(1))?;
                for item in items.iter().take(shown) {
                    self.add(item)?;
                }
                self.add_mark(items.len() - shown, 0)
            }
            Value::Object(members) => {
                let shown = self.shown(members.len());
                self.take(2 + shown.saturating_sub(1))?;
                for (name, item) in members.iter().take(shown) {
                    let length = escaped_up_to(name, self.limit);
                    self.take(3 + if self.most.is_some() { length.min(LEAST_STRING) } else { length })?;
                    self.add(item)?;
                }
                self.add_mark(members.len() - shown, "\"...\":".len())
            }
            scalar => self.take(scalar.to_string().len()),
        }
    }

    fn shown(&self, children: usize) -> usize {
        self.most.unwrap_or(usize::MAX).min(children)
    }

    fn add_string(&mut self, text: &str) -> Option<()> {
        self.lengths.push(escaped_up_to(text, self.limit));
        self.take(2)
    }

    fn add_mark(&mut self, hidden: usize, name: usize) -> Option<()> {
        if hidden == 0 {
            return Some(());
        }
        self.take(1 + name)?;
        self.add_string(&children_mark(hidden))
    }
}

fn children_mark(hidden: usize) -> String {
    format!("[... {hidden} more cut]")
}

/// Cuts every string that is longer than `level` when escaped. With `most`, keeps only so many children of every container,
/// and cuts long member names too.
fn cut(value: &Value, most: Option<usize>, level: usize) -> Value {
    let shown = most.unwrap_or(usize::MAX);
    match value {
        Value::String(text) => Value::String(cut_string(text, level)),
        Value::Array(items) => {
            let mut kept: Vec<_> = items.iter().take(shown).map(|item| cut(item, most, level)).collect();
            if items.len() > shown {
                kept.push(children_mark(items.len() - shown).into());
            }
            Value::Array(kept)
        }
        Value::Object(members) => {
            let name_level = if most.is_some() { LEAST_STRING } else { usize::MAX };
            let mut kept: Map<_, _> = members
                .iter()
                .take(shown)
                .map(|(name, item)| (cut_string(name, name_level), cut(item, most, level)))
                .collect();
            if members.len() > shown {
                kept.insert("...".to_owned(), children_mark(members.len() - shown).into());
            }
            Value::Object(kept)
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
            let mut measure = Measure { most: None, limit: 1_000_000, room: 1_000_000, lengths: Vec::new() };
            prop_assert!(measure.add(&value).is_some());
            let structure = 1_000_000 - measure.room;
            prop_assert_eq!(structure + measure.lengths.iter().sum::<usize>(), value.to_string().chars().count());
        }
    }
}
