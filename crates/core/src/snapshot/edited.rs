//! Text of an editor, as a person sees it: with its lines, its indentation and its empty lines.

use super::item::is_unseen;
use super::nodes::Nodes;

/// Lines of an editor. Texts continue the last line until something ends it.
#[derive(Default)]
struct Lines {
    ended: Vec<String>,
    last: Option<String>,
}

impl Lines {
    /// Ends the last line. Without one, nothing is ended.
    fn end(&mut self) {
        self.ended.extend(self.last.take());
    }

    /// Ends the last line, or adds an empty one.
    fn add_break(&mut self) {
        self.last.get_or_insert_default();
        self.end();
    }

    fn add(&mut self, text: &str) {
        for (number, part) in text.split('\n').enumerate() {
            if number > 0 {
                self.add_break();
            }
            if !part.is_empty() {
                let seen = part.chars().filter(|c| !is_unseen(*c) && !matches!(c, '\u{200b}' | '\u{feff}' | '\r'));
                let seen = seen.map(|c| if c == '\u{a0}' { ' ' } else { c });
                self.last.get_or_insert_default().extend(seen);
            }
        }
    }

    fn into_text(mut self) -> String {
        self.end();
        self.ended.join("\n").trim_end().trim_start_matches('\n').to_owned()
    }
}

impl Nodes<'_> {
    /// Returns the text that a person sees in an editor.
    pub(super) fn edited_text(&self, editor: usize) -> String {
        let mut lines = Lines::default();
        // Elements that are open, and whether each ends the line.
        let mut open: Vec<(usize, bool)> = vec![(editor, true)];
        for (position, node) in self.document.nodes.iter().enumerate().skip(editor + 1) {
            let Some(parent) = node.parent.filter(|parent| *parent >= editor) else { break };
            while let Some((_, is_block)) = open.pop_if(|(around, _)| *around != parent) {
                if is_block {
                    lines.end();
                }
            }
            if open.is_empty() {
                break;
            }
            let is_block = node.is_element && node.layout.as_ref().is_some_and(|layout| !layout.is_inline);
            if is_block {
                lines.end();
            }
            open.push((position, is_block));
            let is_marker = self.node(parent).is_some_and(|parent| parent.tag == "::marker") || node.tag == "::marker";
            if node.tag == "br" {
                lines.add_break();
            } else if node.layout.is_some()
                && !is_marker
                && (self.facts(position).is_visible || node.text.trim().is_empty())
            {
                lines.add(&node.text);
            }
        }
        lines.into_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &[&str]) -> String {
        let mut lines = Lines::default();
        for part in parts {
            match *part {
                "|" => lines.end(),
                "<br>" => lines.add_break(),
                part => lines.add(part),
            }
        }
        lines.into_text()
    }

    #[test]
    fn lines_keep_their_indentation() {
        assert_eq!(text(&["def f():", "|", "\treturn", " 1", "|"]), "def f():\n\treturn 1");
        assert_eq!(text(&["a\n  b\n\nc"]), "a\n  b\n\nc");
        assert_eq!(text(&["\u{a0}\u{a0}x"]), "  x");
    }

    #[test]
    fn empty_lines_are_kept_and_the_last_break_is_none() {
        assert_eq!(text(&["a", "|", "<br>", "|", "b", "<br>", "|"]), "a\n\nb");
        assert_eq!(text(&["a", "|", "\u{200b}", "|", "b"]), "a\n\nb");
        assert_eq!(text(&["|", "|", "a", "|", "|"]), "a");
    }
}
