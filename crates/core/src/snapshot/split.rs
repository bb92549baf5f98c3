//! Secrets that a page shows in parts, masked in a capture: a view tells some of the texts without those beside them, such as the last digit
//! of a code as what is near a field.

use super::build::Part;
use super::capture::{CapturedNode, Document};
use crate::output::mask::{Literals, MASK};

/// Maximum length of the text of a block that may be a part of a secret, in bytes.
const MAX_LENGTH: usize = 256;

/// Number of elements around a text that may be named by it.
const MAX_AROUND: usize = 6;

/// Text of a block, with its nodes.
#[derive(Default)]
struct BlockText {
    block: usize,
    text: String,
    /// Beginning of each node in the text, with its position.
    begins: Vec<(usize, usize)>,
}

impl Part {
    /// Masks the parts of these secrets that blocks of text show, and the names that elements have by them.
    pub fn mask_split(&mut self, secrets: &Literals) {
        if secrets.is_empty() {
            return;
        }
        for document in &mut self.documents {
            let found = texts(document);
            for nodes in found.iter().flat_map(|block| block.glued(secrets)) {
                mask(document, nodes);
            }
            if !secrets.has_split() {
                continue;
            }
            let (texts, blocks): (Vec<_>, Vec<_>) = found.into_iter().map(BlockText::short).unzip();
            let are_secret = secrets.split_in(&texts);
            for ((text, nodes), _) in texts.iter().zip(blocks).zip(are_secret).filter(|(_, is_secret)| *is_secret) {
                for id in nodes.iter().flat_map(|node| ids_around(&document.nodes, *node)) {
                    self.accessibility.rename(id, text, MASK);
                }
                mask(document, nodes);
            }
        }
    }
}

/// Puts one mask in place of the texts of nodes: it does not tell their length.
fn mask(document: &mut Document, nodes: Vec<usize>) {
    let mut mask = Some(MASK);
    for node in nodes {
        let Some(node) = document.nodes.get_mut(node) else { continue };
        mask.take().unwrap_or_default().clone_into(&mut node.text);
        node.content_text.clone_from(&node.text);
    }
}

/// Returns the texts of a document that are shown, each as far as it is in one block.
fn texts(document: &Document) -> Vec<BlockText> {
    let mut blocks = Vec::with_capacity(document.nodes.len());
    let mut texts: Vec<BlockText> = Vec::new();
    for (position, node) in document.nodes.iter().enumerate() {
        let around = node.parent.and_then(|parent| blocks.get(parent)).copied();
        let is_block = node.is_element && node.layout.as_ref().is_some_and(|layout| !layout.is_inline);
        let block = around.filter(|_| !is_block).unwrap_or(position);
        blocks.push(block);
        if node.text.trim().is_empty() {
            continue;
        }
        if texts.last().is_none_or(|last| last.block != block) {
            texts.push(BlockText { block, ..BlockText::default() });
        }
        if let Some(text) = texts.last_mut() {
            text.add(position, node);
        }
    }
    texts
}

impl BlockText {
    /// Adds the text of a node.
    fn add(&mut self, position: usize, node: &CapturedNode) {
        self.begins.push((self.text.len(), position));
        self.text.push_str(&node.text);
    }

    /// Returns the text and its nodes, without the rest of a long one: its begin makes it no part of a secret.
    fn short(mut self) -> (String, Vec<usize>) {
        let count = self.begins.partition_point(|(begin, _)| *begin <= MAX_LENGTH);
        if let Some((end, _)) = self.begins.get(count) {
            self.text.truncate(*end);
        }
        (self.text, self.begins.into_iter().take(count).map(|(_, node)| node).collect())
    }

    /// Returns the nodes that show one of these secrets together: a view may set them apart, by a blank or as a mark.
    fn glued(&self, secrets: &Literals) -> Vec<Vec<usize>> {
        if self.begins.len() < 2 {
            return Vec::new();
        }
        let spans = secrets.spans(&self.text).unwrap_or_else(|| vec![(0, self.text.len())]);
        let nodes = |(first, last): (usize, usize)| {
            let begin = self.begins.partition_point(|(begin, _)| *begin <= first).saturating_sub(1);
            let end = self.begins.partition_point(|(begin, _)| *begin < last);
            self.begins.get(begin..end).unwrap_or_default().iter().map(|(_, node)| *node).collect::<Vec<_>>()
        };
        spans.into_iter().map(nodes).filter(|nodes| nodes.len() > 1).collect()
    }
}

/// Returns the ids of a node and of some elements around it.
fn ids_around(nodes: &[CapturedNode], position: usize) -> Vec<u64> {
    let around = std::iter::successors(nodes.get(position), |node| nodes.get(node.parent?));
    around.take(MAX_AROUND).map(|node| node.id).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Options, View, Wanted};
    use super::*;

    /// Returns a page with these texts, each in a block of its own, and a field behind them. Texts of a block are divided by `|`.
    fn page(blocks: &[&str]) -> Part {
        let (mut strings, mut styles, mut bounds) = (vec![String::new()], Vec::new(), Vec::new());
        let (mut parents, mut kinds, mut names, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut add = |parent: i64, kind: i64, text: &str| {
            for text in [text, "block", "visible"] {
                strings.push(text.to_owned());
            }
            let last = strings.len() - 1;
            parents.push(parent);
            kinds.push(kind);
            names.push(if kind == 1 { last - 2 } else { 0 });
            values.push(if kind == 3 { last - 2 } else { 0 });
            styles.push([last - 1, last]);
            bounds.push([0, 20 * i64::try_from(bounds.len()).unwrap(), 200, 18]);
            i64::try_from(parents.len()).unwrap() - 1
        };
        let body = add(-1, 1, "BODY");
        for block in blocks {
            let block_node = add(body, 1, "DIV");
            for text in block.split('|') {
                add(block_node, 3, text);
            }
        }
        add(body, 1, "INPUT");
        let ids: Vec<usize> = (0..parents.len()).collect();
        let accessible = |id: &usize| json!({ "backendDOMNodeId": id, "name": { "value": strings[values[*id]] } });
        let tree = json!({ "nodes": ids.iter().map(accessible).collect::<Vec<Value>>() });
        let nodes = json!({
            "parentIndex": parents, "nodeType": kinds, "nodeName": names, "nodeValue": values, "backendNodeId": ids,
        });
        let layout = json!({ "nodeIndex": ids, "bounds": bounds, "styles": styles, "text": values });
        let capture = json!({ "strings": strings, "documents": [{ "nodes": nodes, "layout": layout }] });
        let documents = Document::parse_all(&capture.to_string(), &|_| {}).expect("a capture");
        let mut part = Part { documents, ..Part::default() };
        part.accessibility.add(&tree.to_string(), &|_| {}).expect("a tree");
        part
    }

    fn masked(blocks: &[&str]) -> Part {
        let mut part = page(blocks);
        part.mask_split(&Literals::new(["482913".to_owned()]));
        part
    }

    fn shown(part: Part, options: Options, wanted: Option<&Wanted>) -> String {
        let data = View::with(&[part], &options, wanted).expect("a page").to_data("http://a.example/", |_| None);
        data["snapshot"].as_str().unwrap().to_owned()
    }

    // Requirement 6.3.
    #[test]
    fn secret_in_blocks_of_text_is_in_no_view() {
        let all = Options::default();
        let interactive = Options { is_interactive: true, ..all };
        for blocks in [&["Code", "4", "8", "2", "-", "9", "1", "3"][..], &["Code", "48", "2|9", "13"]] {
            let wanted = Wanted::new("4", Literals::default());
            let views = |page: &dyn Fn(&[&str]) -> Part| {
                [(all, None), (interactive, None), (all, Some(&wanted))]
                    .map(|(options, wanted)| shown(page(blocks), options, wanted))
            };
            let has_digit = |view: &String| view.contains(|c: char| c.is_ascii_digit());
            let masks = views(&masked);
            assert!(!masks.iter().any(has_digit), "{masks:?}");
            assert_eq!(
                masks[0].matches(MASK).count(),
                blocks.iter().filter(|text| text.contains(char::is_numeric)).count()
            );
            let plain = views(&page);
            assert!(plain.iter().all(has_digit), "control: {plain:?}");
        }
    }

    // Requirement 6.3.
    #[test]
    fn blocks_of_text_that_are_no_secret_stay() {
        for blocks in
            [&["4", "8", "2", "9", "1", "4"][..], &["4", "8", "2", "9", "1", "3", "7"], &["4", "8", "Code", "2", "913"]]
        {
            assert_eq!(
                shown(masked(blocks), Options::default(), None),
                shown(page(blocks), Options::default(), None),
                "{blocks:?}"
            );
        }
    }

    // Requirement 6.3.
    #[test]
    fn secret_in_several_nodes_is_masked_as_a_whole() {
        let mut part = page(&["hunter2|xyzzy", "hunter2 xyzzy"]);
        part.mask_split(&Literals::new(["hunter2xyzzy".to_owned()]));
        let seen = shown(part, Options::default(), None);
        assert!(seen.contains("***"), "{seen}");
        assert_eq!(seen.matches("hunter2").count(), 1, "control: other words stay: {seen}");
    }
}
