//! Truncation of output to the limit of a reply.
//!
//! Requirement 1.7. In data, the longest strings are shortened first and the result stays valid JSON. Lists and objects
//! lose their last members only if there are too many values. A marker shows the size of each cut.
//!
//! Invariants: output that fits is unchanged, and no result is longer than the limit.

use serde_json::{Map, Value};

/// Minimum length of a shortened string, in characters, so that its marker always fits.
const MIN_STRING: usize = 48;

/// Truncates a text to at most `limit` characters, including the marker.
#[must_use]
pub fn text(text: &str, limit: usize) -> String {
    let total = text.chars().count();
    if total <= limit {
        return text.to_owned();
    }
    let marker = |cut: usize| format!("\n[... {cut} characters cut]");
    // The marker is longest if everything is cut.
    let keep = limit.saturating_sub(marker(total).len());
    let shortened = format!("{}{}", prefix(text, keep), marker(total - keep));
    prefix(&shortened, limit).to_owned()
}

/// Serializes data to one line of at most `limit` characters. `limit` should be 64 or more.
///
/// The running time depends on the limit, not on the size of the data, except for counting the characters of its
/// strings.
#[must_use]
pub fn json(value: &Value, limit: usize) -> String {
    match string_level(value, None, limit) {
        Some(usize::MAX) => return value.to_string(),
        Some(level) => return cut(value, None, level).to_string(),
        None => {}
    }
    // Shorter strings are not enough. Find the greatest number of children of each container that fits. A child takes
    // at least two characters.
    let (mut fits, mut too_many) = (0, max_children_of(value).min(limit / 2));
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

/// Returns the first `count` characters.
fn prefix(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

/// Returns the length of a character inside a JSON string.
const fn escaped_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if (c as u32) < 0x20 => 6,
        _ => 1,
    }
}

fn escaped_text_len(text: &str) -> usize {
    text.chars().map(escaped_len).sum()
}

/// Returns the length of a text inside a JSON string, or some length above `limit` if it is greater than that.
fn escaped_text_len_up_to(text: &str, limit: usize) -> usize {
    let mut length = 0;
    for c in text.chars() {
        length += escaped_len(c);
        if length > limit {
            break;
        }
    }
    length
}

/// Returns the greatest length of strings with which the data fits: `usize::MAX` if no string has to be cut, `None` if
/// no length is short enough. With `max_children`, only so many children of each container count.
fn string_level(value: &Value, max_children: Option<usize>, limit: usize) -> Option<usize> {
    let mut measure = Measure { max_children, limit, room: limit, lengths: Vec::new() };
    measure.add(value)?;
    let Measure { mut room, mut lengths, .. } = measure;
    lengths.sort_unstable();
    // Start with the shortest string. A string that fits into an equal share of the room is kept whole.
    for (done, length) in lengths.iter().enumerate() {
        let share = room / (lengths.len() - done);
        if *length > share {
            return (share >= MIN_STRING).then_some(share);
        }
        room -= length;
    }
    Some(usize::MAX)
}

/// Measurement of data, which stops as soon as there is no room left.
struct Measure {
    max_children: Option<usize>,
    limit: usize,
    /// Rest of the limit, in characters, after subtracting everything except the contents of string values.
    room: usize,
    /// Lengths of the string values, in characters.
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
                let visible = self.visible(items.len());
                self.take(2 + visible.saturating_sub(1))?;
                for item in items.iter().take(visible) {
                    self.add(item)?;
                }
                self.add_marker(items.len() - visible, 0)
            }
            Value::Object(members) => {
                let visible = self.visible(members.len());
                self.take(2 + visible.saturating_sub(1))?;
                for (name, item) in members.iter().take(visible) {
                    let length = escaped_text_len_up_to(name, self.limit);
                    self.take(3 + if self.max_children.is_some() { length.min(MIN_STRING) } else { length })?;
                    self.add(item)?;
                }
                self.add_marker(members.len() - visible, "\"...\":".len())
            }
            scalar => self.take(scalar.to_string().len()),
        }
    }

    fn visible(&self, children: usize) -> usize {
        self.max_children.unwrap_or(usize::MAX).min(children)
    }

    fn add_string(&mut self, text: &str) -> Option<()> {
        self.lengths.push(escaped_text_len_up_to(text, self.limit));
        self.take(2)
    }

    fn add_marker(&mut self, hidden: usize, name: usize) -> Option<()> {
        if hidden == 0 {
            return Some(());
        }
        self.take(1 + name)?;
        self.add_string(&children_marker(hidden))
    }
}

fn children_marker(hidden: usize) -> String {
    format!("[... {hidden} more cut]")
}

/// Cuts every string whose escaped length exceeds `level`. With `max_children`, keeps only so many children of each
/// container and also cuts long member names.
fn cut(value: &Value, max_children: Option<usize>, level: usize) -> Value {
    let visible = max_children.unwrap_or(usize::MAX);
    match value {
        Value::String(text) => Value::String(cut_string(text, level)),
        Value::Array(items) => {
            let mut kept: Vec<_> = items.iter().take(visible).map(|item| cut(item, max_children, level)).collect();
            if items.len() > visible {
                kept.push(children_marker(items.len() - visible).into());
            }
            Value::Array(kept)
        }
        Value::Object(members) => {
            let name_level = if max_children.is_some() { MIN_STRING } else { usize::MAX };
            let mut kept: Map<_, _> = members
                .iter()
                .take(visible)
                .map(|(name, item)| (cut_string(name, name_level), cut(item, max_children, level)))
                .collect();
            if members.len() > visible {
                kept.insert("...".to_owned(), children_marker(members.len() - visible).into());
            }
            Value::Object(kept)
        }
        scalar => scalar.clone(),
    }
}

fn cut_string(text: &str, level: usize) -> String {
    if escaped_text_len(text) <= level {
        return text.to_owned();
    }
    let total = text.chars().count();
    let marker = |cut: usize| format!("[... {cut} characters cut]");
    let mut room = level.saturating_sub(marker(total).len());
    let mut kept = String::new();
    let mut count = 0;
    for c in text.chars() {
        let Some(left) = room.checked_sub(escaped_len(c)) else { break };
        room = left;
        kept.push(c);
        count += 1;
    }
    kept.push_str(&marker(total - count));
    kept
}

/// Returns the greatest number of children of any container.
fn max_children_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(max_children_of).max().unwrap_or(0).max(items.len()),
        Value::Object(members) => members.values().map(max_children_of).max().unwrap_or(0).max(members.len()),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
