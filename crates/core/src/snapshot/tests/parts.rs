//! Elements that nothing but what is around them shows to be something to act on.

use serde_json::{Value, json};

use super::super::*;
use super::show;

/// Page that is made of nodes, each with its parent, its tag or its text, and its attributes.
struct Page {
    strings: Vec<String>,
    nodes: Vec<(i64, Vec<i64>)>,
    dom: Value,
    styles: Vec<Vec<i64>>,
    bounds: Vec<[i64; 4]>,
    listeners: PageListeners,
    accessible: Vec<Value>,
}

impl Page {
    fn new() -> Self {
        let dom = json!({ "nodeType": [], "nodeName": [], "nodeValue": [], "backendNodeId": [] });
        let mut page = Self {
            strings: Vec::new(),
            nodes: Vec::new(),
            dom,
            styles: Vec::new(),
            bounds: Vec::new(),
            listeners: PageListeners::default(),
            accessible: Vec::new(),
        };
        page.add(-1, "BODY", &[], "rgba(0, 0, 0, 0)", [0, 0, 900, 900]);
        page
    }

    fn string(&mut self, text: &str) -> i64 {
        self.strings.push(text.to_owned());
        i64::try_from(self.strings.len()).unwrap() - 1
    }

    /// Adds an element with a background, or a text if its name is in lower case. Returns its position, which is its id too.
    fn add(&mut self, parent: i64, name: &str, attributes: &[&str], color: &str, bounds: [i64; 4]) -> i64 {
        let is_text = name.chars().next().is_some_and(char::is_lowercase);
        let attributes = attributes.iter().map(|text| self.string(text)).collect();
        let name = self.string(name);
        let dom = |member: &str, value: i64, page: &mut Self| {
            page.dom[member].as_array_mut().unwrap().push(value.into());
        };
        dom("nodeType", if is_text { 3 } else { 1 }, self);
        dom("nodeName", name, self);
        dom("nodeValue", if is_text { name } else { -1 }, self);
        dom("backendNodeId", i64::try_from(self.nodes.len()).unwrap(), self);
        self.nodes.push((parent, attributes));
        let styles = ["block", "visible", "auto", "auto", "visible", "visible", color, "none", "0px", color];
        let styles = styles.map(|style| self.string(style)).to_vec();
        self.styles.push(styles);
        self.bounds.push(bounds);
        i64::try_from(self.nodes.len()).unwrap() - 1
    }

    /// Adds an element without a background that holds a text.
    fn block(&mut self, parent: i64, name: &str, attributes: &[&str], text: &str) -> i64 {
        let y = i64::try_from(self.nodes.len()).unwrap() * 20;
        let element = self.add(parent, name, attributes, "rgba(0, 0, 0, 0)", [0, y, 200, 20]);
        self.add(element, text, &[], "rgba(0, 0, 0, 0)", [0, y, 50, 18]);
        element
    }

    fn listen(&mut self, node: i64, kinds: &[&str]) {
        for kind in kinds {
            self.listeners.add(u64::try_from(node).unwrap(), kind);
        }
    }

    fn shown(&self, is_interactive: bool) -> String {
        show(&[self.part()], &Options { is_interactive, ..Options::default() })
    }

    /// Returns the number of elements that a chain of selectors finds.
    fn count(&self, chain: &str) -> usize {
        let chain = crate::selector::SelectorChain::parse(chain).unwrap_or_else(|| panic!("`{chain}` is no chain"));
        Finder::new(&[self.part()], [], |_| false).find(chain.parts(), &[], Reach::Page).len()
    }

    fn part(&self) -> Part {
        let mut dom = self.dom.clone();
        dom["parentIndex"] = self.nodes.iter().map(|node| node.0).collect();
        dom["attributes"] = self.nodes.iter().map(|node| json!(node.1)).collect();
        let texts = dom["nodeValue"].clone();
        let indices: Vec<usize> = (0..self.nodes.len()).collect();
        let layout = json!({ "nodeIndex": indices, "bounds": self.bounds, "styles": self.styles, "text": texts });
        let capture = json!({ "strings": self.strings, "documents": [{ "nodes": dom, "layout": layout }] });
        let documents = Document::parse_all(&capture.to_string(), &|_| {}).expect("a capture");
        let mut part = Part { documents, ..Part::default() };
        for document in &mut part.documents {
            document.add_listeners(&self.listeners);
        }
        let tree = json!({ "nodes": self.accessible });
        part.accessibility.add(&tree.to_string(), &|_| {}).expect("a tree");
        part
    }
}

#[test]
fn parts_of_a_list_that_takes_presses_have_references() {
    let mut page = Page::new();
    let list = page.add(0, "UL", &["id", "sorted"], "", [0, 0, 200, 100]);
    page.block(list, "LI", &[], "one");
    page.block(list, "LI", &[], "two");
    assert!(!page.shown(true).contains("[ref="), "control: nothing listens");
    page.listen(list, &["mousedown", "click"]);
    let shown = page.shown(true);
    assert!(shown.contains("- clickable \"one\" [ref=e2]") && shown.contains("\"two\" [ref=e4]"), "{shown}");
}

#[test]
fn parts_of_a_card_that_takes_clicks_have_no_references() {
    let mut page = Page::new();
    let card = page.add(0, "DIV", &["class", "card"], "", [0, 0, 200, 100]);
    page.block(card, "DIV", &["class", "title"], "a title");
    page.block(card, "DIV", &["class", "text"], "a text");
    page.listen(card, &["pointerup"]);
    assert_eq!(page.shown(true), "- clickable \"a title a text\" [ref=e1]");
    // Control: what is alike is the parts of a board.
    let board = page.add(0, "SECTION", &["class", "board"], "", [0, 200, 200, 100]);
    page.block(board, "SPAN", &["class", "field"], "a1");
    page.block(board, "SPAN", &["class", "field"], "a2");
    page.listen(board, &["pointerup"]);
    let shown = page.shown(true);
    assert!(!shown.contains("- clickable \"a text\"") && shown.contains("\"a2\" [ref="), "{shown}");
}

#[test]
fn shapes_of_a_drawing_tell_their_form_and_color() {
    let mut page = Page::new();
    let drawing = page.add(0, "SVG", &[], "", [0, 0, 100, 100]);
    for (tag, color) in [("CIRCLE", "rgb(255, 0, 0)"), ("RECT", "rgba(0, 0, 255, 0.5)")] {
        page.add(drawing, tag, &[], color, [0, 0, 20, 20]);
    }
    page.listen(drawing, &["pointerdown"]);
    let shown = page.shown(true);
    assert!(shown.contains("[ref=e2] [shape=\"circle\"] [color=\"#ff0000\"]"), "{shown}");
    assert!(shown.contains("[ref=e3] [shape=\"rect\"] [color=\"#0000ff\"]"), "{shown}");
}

#[test]
fn texts_of_a_drawing_tell_their_color() {
    let mut page = Page::new();
    let drawing = page.add(0, "SVG", &[], "", [0, 0, 100, 100]);
    for (x, color) in [(0, "rgb(255, 0, 0)"), (50, "rgb(0, 0, 255)")] {
        let letter = page.add(drawing, "TEXT", &[], color, [x, 0, 20, 20]);
        page.add(letter, "p", &[], "", [x, 0, 20, 20]);
    }
    page.listen(drawing, &["pointerdown"]);
    let shown = page.shown(true);
    assert!(shown.contains("- clickable \"p\" [ref=e2] [color=\"#ff0000\"]"), "{shown}");
    assert!(shown.contains("- clickable \"p\" [ref=e4] [color=\"#0000ff\"]"), "{shown}");
    // Control: other texts have the color of what is around them.
    let word = page.block(0, "SPAN", &[], "word");
    page.listen(word, &["pointerdown"]);
    let shown = page.shown(true);
    assert!(shown.lines().any(|line| line.starts_with("- clickable \"word\"") && !line.contains("color")), "{shown}");
}

#[test]
fn placeholder_of_an_editor_has_the_bound_of_a_value() {
    let shown = |words: &str| {
        let mut page = Page::new();
        let attributes = ["contenteditable", "true", "role", "textbox", "tabindex", "0", "data-placeholder", words];
        page.add(0, "DIV", &attributes, "rgba(0, 0, 0, 0)", [0, 0, 200, 20]);
        page.shown(true)
    };
    let (short, long) = (shown("Type here"), shown(&"long words ".repeat(100)));
    assert!(short.contains("[placeholder=\"Type here\"]"), "{short}");
    assert!(long.contains("[placeholder=\"long words") && long.len() < 500, "{long}");
}

#[test]
fn option_that_is_the_label_of_its_box_is_no_second_one() {
    let shown = |attributes: &[&str], styles: &[(usize, &str)]| {
        let mut page = Page::new();
        let label = page.add(0, "LABEL", &["role", "option", "aria-selected", "false"], "", [0, 0, 300, 20]);
        let field = page.add(label, "INPUT", &[&["type", "checkbox"], attributes].concat(), "", [0, 0, 13, 13]);
        for (style, value) in styles {
            let value = page.string(value);
            page.styles[usize::try_from(field).unwrap()][*style] = value;
        }
        let text = page.add(label, "SPAN", &[], "", [20, 0, 90, 20]);
        page.add(text, "sold boats", &[], "", [20, 0, 90, 20]);
        for (node, role) in [(label, "option"), (field, "checkbox")] {
            page.accessible.push(json!({
                "backendDOMNodeId": node, "role": { "value": role }, "name": { "value": "sold boats" },
            }));
        }
        page.shown(true)
    };
    let page = shown(&["readonly", ""], &[]);
    assert!(page.lines().count() == 1 && page.starts_with("- checkbox \"sold boats\" [ref=e2]"), "{page}");
    let page = shown(&["disabled", ""], &[]);
    assert!(page.contains("\"sold boats\" [ref=e1]"), "the label can be pressed: {page}");
    let page = shown(&["tabindex", "-1", "aria-hidden", "true"], &[(3, "none")]);
    assert!(page.contains("\"sold boats\" [ref="), "{page}");
}

#[test]
fn picture_of_a_box_to_check_is_no_second_one() {
    let shown = |attributes: &[&str], opacity: &str, x: i64| {
        let mut page = Page::new();
        let around = page.add(0, "SPAN", &[], "", [0, 0, 300, 20]);
        let field = page.add(around, "INPUT", &[&["type", "checkbox"], attributes].concat(), "", [0, 0, 20, 20]);
        let opacity = page.string(opacity);
        page.styles[usize::try_from(field).unwrap()].push(opacity);
        let picture = page.add(around, "SPAN", &["class", "icon"], "rgb(9, 9, 9)", [x, 0, 20, 20]);
        page.listen(picture, &["click", "mousedown"]);
        page.shown(true)
    };
    let named = ["aria-label", "Watch"];
    assert_eq!(shown(&named, "0", 0), "- checkbox \"Watch\" [ref=e2]");
    assert!(shown(&named, "0", 40).contains("[class=\"icon\"]"), "beside it, it is something else");
    assert!(shown(&named, "1", 0).contains("[class=\"icon\"]"), "it covers the box");
    assert!(shown(&["name", "color"], "0", 0).contains("[class=\"icon\"]"), "it tells which one it is");
    let disabled = ["aria-label", "Watch", "disabled", ""];
    assert!(shown(&disabled, "0", 0).contains("[class=\"icon\"]"), "it is the only one that takes a press");
}

#[test]
fn shape_is_near_the_text_of_its_group() {
    let mut page = Page::new();
    let drawing = page.add(0, "SVG", &[], "", [0, 0, 800, 300]);
    let mut hidden = 0;
    for (x, name) in [(0, "tide"), (300, "noon")] {
        let node = page.add(drawing, "G", &[], "", [x, 0, 100, 40]);
        let shape = page.add(node, "RECT", &["class", "port"], "rgb(9, 9, 9)", [x, 0, 10, 10]);
        page.listen(shape, &["mousedown"]);
        let label = page.add(node, "TEXT", &[], "", [x + 20, 0, 40, 20]);
        page.add(label, name, &[], "", [x + 20, 0, 40, 20]);
        hidden = page.add(node, "G", &[], "", [x, 0, 40, 40]);
        let shape = page.add(hidden, "RECT", &["class", "status"], "rgb(9, 9, 9)", [x, 0, 9, 9]);
        page.listen(shape, &["mousedown"]);
        let port = page.add(node, "G", &[], "", [x + 90, 10, 10, 10]);
        let shape = page.add(port, "RECT", &["class", "port"], "rgb(9, 9, 9)", [x + 90, 10, 10, 10]);
        page.listen(shape, &["mousedown"]);
    }
    let near = |shown: &str, class: &str| {
        let lines = shown.lines().filter(|line| line.contains(class));
        lines.map(|line| line.split("near=").nth(1).unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let shown = page.shown(true);
    assert_eq!(near(&shown, "port"), ["\"tide\"]", "\"tide\"]", "\"noon\"]", "\"noon\"]"], "{shown}");
    assert_eq!(near(&shown, "status").len(), 2, "control: {shown}");
    // Chromium gives what is in a group that is not drawn a box all the same.
    let none = page.string("none");
    page.styles[usize::try_from(hidden).unwrap()][0] = none;
    let shown = page.shown(true);
    assert_eq!(near(&shown, "status"), ["\"tide\"]"], "{shown}");
    // The label of one of several is not that of the others.
    let mut page = Page::new();
    let drawing = page.add(0, "SVG", &[], "", [0, 0, 800, 300]);
    let all = page.add(drawing, "G", &[], "", [0, 0, 800, 300]);
    for (x, name) in [(0, ""), (100, ""), (200, "only")] {
        let one = page.add(all, "G", &[], "", [x, 0, 20, 20]);
        let shape = page.add(one, "CIRCLE", &["class", "point"], "rgb(9, 9, 9)", [x, 0, 10, 10]);
        page.listen(shape, &["mousedown"]);
        if !name.is_empty() {
            let label = page.add(one, "TEXT", &[], "", [x + 10, 0, 40, 20]);
            page.add(label, name, &[], "", [x + 10, 0, 40, 20]);
        }
    }
    let shown = page.shown(true);
    assert_eq!(near(&shown, "point").iter().filter(|near| near.contains("only")).count(), 1, "{shown}");
}

#[test]
fn box_is_a_place_where_something_can_be_dragged() {
    let mut page = Page::new();
    let tile = page.block(0, "DIV", &["id", "tile"], "tile");
    page.add(0, "DIV", &["id", "bin"], "rgb(9, 9, 9)", [0, 50, 90, 90]);
    page.add(0, "DIV", &["id", "clear"], "rgba(0, 0, 0, 0)", [0, 150, 90, 90]);
    assert!(!page.shown(false).contains("bin"), "control: nothing can be dragged");
    page.listen(tile, &["mousedown"]);
    let shown = page.shown(true);
    assert!(shown.contains("[id=\"bin\"] [color=\"#090909\"]"), "{shown}");
    assert!(!shown.contains("clear"), "what nobody sees is no place: {shown}");
}

#[test]
fn boxes_in_a_line_are_apart() {
    let mut page = Page::new();
    for (name, color) in [("kitchen", "rgb(9, 9, 9)"), ("garage", "rgb(9, 9, 9)"), ("old ", ""), ("attic", "")] {
        let element = page.add(0, "SPAN", &[], color, [0, 0, 90, 90]);
        page.add(element, name, &[], "rgba(0, 0, 0, 0)", [0, 0, 90, 20]);
        for node in [element, element + 1] {
            page.styles[usize::try_from(node).unwrap()][0] = page.string("inline-block");
        }
    }
    let shown = page.shown(false);
    assert!(shown.contains("\"kitchen\"") && shown.contains("\"garage\""), "{shown}");
    assert!(shown.contains("\"old attic\""), "control: nobody sees where one ends: {shown}");
}

#[test]
fn root_that_listens_to_everything_is_nothing_to_act_on() {
    let mut page = Page::new();
    let root = page.add(0, "DIV", &["id", "root"], "", [0, 0, 200, 100]);
    page.block(root, "P", &[], "a text");
    page.listen(root, &["mousedown", "pointerdown"]);
    assert!(page.shown(true).contains("- clickable \"a text\""), "control");
    let kinds: Vec<String> = (0..20).map(|kind| format!("kind{kind}")).collect();
    page.listen(root, &kinds.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(!page.shown(true).contains("[ref="), "{}", page.shown(true));
}

#[test]
fn text_has_a_reference_in_the_full_view_only() {
    let mut page = Page::new();
    page.block(0, "P", &[], "a text");
    assert_eq!(page.shown(false), "- text \"a text\" [ref=e1]");
    assert!(!page.shown(true).contains("[ref="));
}

#[test]
fn hovered_element_has_a_reference_unless_one_is_in_it() {
    let mut page = Page::new();
    let area = page.block(0, "DIV", &[], "area");
    page.listen(area, &["mouseenter"]);
    assert_eq!(page.shown(true), "- clickable \"area\" [ref=e1]");
    page.block(area, "BUTTON", &[], "button");
    assert_eq!(page.shown(true), "- button \"button\" [ref=e3]");
}

#[test]
fn frame_of_one_control_has_no_line() {
    let mut page = Page::new();
    let cell = page.add(0, "TD", &["aria-label", "link"], "", [0, 0, 60, 60]);
    let link = page.block(cell, "A", &["href", "#"], "link");
    page.listen(cell, &["pointerup"]);
    assert_eq!(page.shown(true), format!("- link \"link\" [ref=e{link}]"));
    let mut page = Page::new();
    let tab = page.add(0, "BUTTON", &["aria-label", "tab"], "", [0, 0, 100, 40]);
    let link = page.add(tab, "A", &["href", "#", "aria-label", "tab"], "", [10, 10, 80, 20]);
    assert_eq!(page.shown(true), "- button \"tab\" [ref=e1]");
    page.bounds[usize::try_from(link).unwrap()] = [0, 30, 10, 10];
    assert!(page.shown(true).contains("- link \"tab\""), "a click on the button is none on it");
}

#[test]
fn icon_is_near_what_is_beside_it() {
    let mut page = Page::new();
    for y in [0, 40] {
        for (name, x, width) in [("opener", 0, 20), ("row", 20, 100)] {
            let class =
                if name == "row" { ["aria-label", ["first", "second"][usize::from(y > 0)]] } else { ["class", name] };
            let element = page.add(0, "SPAN", &class, "", [x, y, width, 20]);
            page.listen(element, &["pointerup"]);
        }
    }
    let shown = page.shown(true);
    assert!(shown.contains("[class=\"opener\"] [near=\"second\"]"), "{shown}");
}

#[test]
fn link_is_near_the_one_in_its_line() {
    let mut page = Page::new();
    for (name, x, y) in [
        ("Export", 0, 0),
        ("select", 0, 20),
        ("boats", 60, 20),
        ("select", 0, 40),
        ("ports", 60, 40),
        ("boats", 300, 0),
    ] {
        page.add(0, "A", &["href", "#", "aria-label", name], "", [x, y, 50, 16]);
    }
    let shown = page.shown(true);
    let near: Vec<_> = shown.lines().filter(|line| line.starts_with("- link \"select\"")).collect();
    assert!(near.len() == 2 && near[0].contains("[near=\"boats\"]") && near[1].contains("[near=\"ports\"]"), "{shown}");
    let mut page = Page::new();
    for (name, rest, y) in [("alice", &["Edit"][..], 0), ("bob", &["Edit", "Delete"], 20)] {
        page.add(0, name, &[], "", [0, y, 50, 16]);
        for (name, x) in rest.iter().zip([60, 120]) {
            page.add(0, "A", &["href", "#", "aria-label", name], "", [x, y, 50, 16]);
        }
    }
    let shown = page.shown(true);
    assert!(shown.contains("\"Edit\" [ref=e4] [near=\"bob\"]"), "a text tells more: {shown}");
}

#[test]
fn button_is_near_the_text_in_its_line_of_another_column() {
    let mut page = Page::new();
    page.add(0, "menu", &[], "", [0, 0, 50, 20]);
    let grid = page.add(0, "DIV", &[], "", [60, 0, 500, 60]);
    for (column, texts) in [["ann", "bob", "cid"], ["open", "open", "done"]].iter().enumerate() {
        let x = 60 + 100 * i64::try_from(column).unwrap();
        let part = page.add(grid, "DIV", &[], "", [x, 0, 100, 60]);
        for (text, y) in texts.iter().zip([0, 20, 40]) {
            let cell = page.add(part, "DIV", &[], "", [x, y, 100, 20]);
            page.add(cell, text, &[], "", [x, y, 30, 16]);
        }
    }
    let part = page.add(grid, "DIV", &[], "", [300, 0, 50, 60]);
    for y in [0, 20, 40] {
        page.add(part, "BUTTON", &["aria-label", "Edit"], "", [300, y, 50, 20]);
    }
    let near = |shown: &str| -> Vec<String> {
        shown.lines().map(|line| line.split("near=").nth(1).unwrap_or_default().to_owned()).collect()
    };
    let shown = page.shown(true);
    assert_eq!(near(&shown), ["\"ann\"]", "\"bob\"]", "\"cid\"]"], "{shown}");
}

#[test]
fn fold_keeps_states() {
    for (state, shown) in [
        (["aria-selected", "true"], "[selected]"),
        (["aria-current", "page"], "[current]"),
        (["aria-sort", "ascending"], "[sorted=\"ascending\"]"),
        (["disabled", ""], "[disabled]"),
    ] {
        // The frame of one control, and a control in another one.
        let mut page = Page::new();
        let frame = page.add(0, "DIV", &state[..], "", [0, 0, 60, 60]);
        page.listen(frame, &["pointerup"]);
        page.add(frame, "BUTTON", &["aria-label", "inner"], "", [0, 0, 60, 60]);
        let view = page.shown(true);
        let is_one = view.lines().count() == 1;
        assert!(is_one && (view.contains(shown) || state[0] == "disabled"), "{view}");
        let mut page = Page::new();
        let outer = page.add(0, "BUTTON", &["aria-label", "tab"], "", [0, 0, 100, 40]);
        page.add(outer, "BUTTON", &["aria-label", "tab", state[0], state[1]], "", [10, 10, 80, 20]);
        let view = page.shown(true);
        assert!(view.lines().count() == 1 && view.contains(shown), "{view}");
    }
}

#[test]
fn carrier_of_other_things_has_no_line() {
    let mut page = Page::new();
    let outer = page.add(0, "DIV", &[], "", [0, 0, 300, 90]);
    page.block(outer, "BUTTON", &[], "play");
    page.block(outer, "BUTTON", &[], "stop");
    page.listen(outer, &["pointerup"]);
    assert_eq!(page.shown(true), "- button \"play\" [ref=e2]\n- button \"stop\" [ref=e4]");
    // Controls: its own text is pressed on it, and a drag may begin on it.
    page.block(outer, "P", &[], "a text");
    assert!(page.shown(true).contains("- clickable \"a text\" [ref=e1]"), "{}", page.shown(true));
    let mut page = Page::new();
    let outer = page.add(0, "DIV", &[], "", [0, 0, 300, 90]);
    page.block(outer, "BUTTON", &[], "play");
    page.block(outer, "BUTTON", &[], "stop");
    page.listen(outer, &["mousedown"]);
    assert_eq!(page.shown(true).lines().count(), 3, "{}", page.shown(true));
}

#[test]
fn what_a_dialog_hides_behind_it_takes_no_input() {
    let shown = |hidden: &[&str], position: &str, overlay: [i64; 4], is_interactive: bool| {
        let mut page = Page::new();
        let main = page.add(0, "MAIN", hidden, "", [0, 0, 900, 600]);
        for (place, name) in [(0, "Publish"), (40, "Discard")] {
            page.add(main, "BUTTON", &["aria-label", name], "", [0, place, 100, 20]);
        }
        let overlay = page.add(0, "DIV", &[], "", overlay);
        let position = page.string(position);
        let none = page.string("none");
        page.styles[usize::try_from(overlay).unwrap()].extend([none, none, none, position]);
        let dialog = page.add(overlay, "DIV", &["role", "dialog"], "", [200, 200, 300, 200]);
        page.add(dialog, "BUTTON", &["aria-label", "Yes"], "", [200, 200, 100, 20]);
        page.accessible.push(json!({
            "backendDOMNodeId": dialog, "role": { "value": "dialog" }, "name": { "value": "Sure" },
            "properties": [{ "name": "modal", "value": { "value": true } }],
        }));
        page.shown(is_interactive)
    };
    let hidden = ["aria-hidden", "true"];
    let window = [0, 0, 900, 900];
    let dialog = "- dialog \"Sure\"\n- button \"Yes\" [ref=e6]\n";
    let behind = shown(&hidden, "fixed", window, true);
    assert_eq!(behind, format!("{dialog}- more \"2 controls take no input now, as behind a dialog\""));
    let names = shown(&hidden, "fixed", window, false);
    assert!(names.contains("- button \"Publish\"\n") && names.contains("- button \"Discard\""), "{names}");
    let publish = "- button \"Publish\" [ref=e2]";
    for (hidden, position, overlay, why) in [
        (&[][..], "fixed", window, "it is not hidden"),
        (&hidden, "static", window, "it is beside the dialog"),
        (&hidden, "fixed", [100, 100, 700, 700], "a part of the window is free"),
    ] {
        let page = shown(hidden, position, overlay, true);
        assert!(page.contains(publish) && !page.contains("no input"), "{why}: {page}");
    }
}

#[test]
fn box_of_a_component_with_its_role_is_no_second_one() {
    let shown = |inner: &str| {
        let mut page = Page::new();
        let host = page.add(0, "ION-CHECKBOX", &["role", "checkbox", "aria-label", "I agree"], "", [0, 0, 300, 20]);
        let label = page.add(host, "LABEL", &["for", "box"], "", [0, 0, 300, 20]);
        let field = page.add(label, "INPUT", &["id", "box", "type", "checkbox"], "", [0, 0, 0, 0]);
        page.add(label, inner, &[], "", [20, 0, 90, 20]);
        for (node, role) in [(host, "checkbox"), (label, "LabelText"), (field, "checkbox")] {
            let name = if node == host { "I agree" } else { inner };
            page.accessible.push(json!({
                "backendDOMNodeId": node, "role": { "value": role }, "name": { "value": name },
            }));
        }
        page.shown(true)
    };
    assert_eq!(shown("I agree"), "- checkbox \"I agree\" [ref=e1]");
    assert!(shown("not to this").contains("\"not to this\" [ref="), "another name is another box");
}

#[test]
fn empty_field_under_its_label_is_shown() {
    let shown = |label: &str, top: i64| {
        let mut page = Page::new();
        let around = page.add(0, "DIV", &[], "", [0, 0, 300, 40]);
        let label = page.block(around, "SPAN", &[], label);
        for node in [label, label + 1] {
            page.bounds[usize::try_from(node).unwrap()] = [10, top, 60, 20];
        }
        let content = page.add(around, "DIV", &[], "", [0, 0, 300, 40]);
        let opacity = page.string("0");
        page.styles[usize::try_from(content).unwrap()].push(opacity);
        let field = page.add(content, "INPUT", &["aria-label", "name"], "", [0, 0, 300, 40]);
        page.accessible.push(json!({
            "backendDOMNodeId": field, "role": { "value": "textbox" }, "name": { "value": "name" },
        }));
        page.shown(true)
    };
    assert_eq!(shown("name*", 10), "- textbox \"name\" [ref=e5]");
    let nothing = "(no interactive elements; try snapshot or screenshot)";
    assert_eq!(shown("name*", 200), nothing, "the label is elsewhere: a trap");
    assert_eq!(shown("welcome", 10), nothing, "it is no label");
}

#[test]
fn hidden_list_in_a_label_is_no_name_of_its_field() {
    let shown = |style: &str| {
        let mut page = Page::new();
        let label = page.add(0, "LABEL", &[], "", [0, 0, 300, 40]);
        page.add(label, "phone", &[], "", [0, 0, 60, 20]);
        let country = page.add(label, "country", &[], "", [0, 20, 60, 20]);
        let style = page.string(style);
        page.styles[usize::try_from(country).unwrap()][1] = style;
        page.add(label, "INPUT", &[], "", [80, 0, 200, 20]);
        page.shown(true)
    };
    assert_eq!(shown("visible"), "- textbox \"phonecountry\" [ref=e4]", "control");
    assert_eq!(shown("hidden"), "- textbox \"phone\" [ref=e4]");
}

#[test]
fn control_that_fills_a_chosen_cell_is_chosen() {
    // A row of cells for each list of their classes.
    let shown = |rows: &[&[&str]], selected: &str, width: i64| {
        let mut page = Page::new();
        let table = page.add(0, "TBODY", &[], "", [0, 0, 400, 200]);
        for row in rows {
            let row_at = page.add(table, "TR", &[], "", [0, 0, 400, 20]);
            for class in *row {
                let is_selected = (*class == selected).to_string();
                let cell = page.add(row_at, "TD", &["class", class, "aria-selected", &is_selected], "", [0, 0, 40, 20]);
                page.add(cell, "BUTTON", &["aria-label", class], "", [0, 0, width, 20]);
            }
        }
        page.shown(true)
    };
    let page = shown(&[&["day a", "day b selected"], &["day c", "day d"]], "", 30);
    assert!(page.contains("\"day b selected\" [ref=e6] [active]") && page.matches("[active]").count() == 1, "{page}");
    let page = shown(&[&["day a selected", "day b selected"], &["day c", "day d"]], "", 30);
    assert_eq!(page.matches("[active]").count(), 2, "a whole row: {page}");
    let page = shown(&[&["day a", "col-active"], &["day b", "col-active"]], "", 30);
    assert!(!page.contains("[active]"), "a column: {page}");
    let page = shown(&[&["day a", "day b"]], "day b", 30);
    assert!(page.contains("\"day b\" [ref=e6] [selected]") && page.matches("[selected]").count() == 1, "{page}");
    let page = shown(&[&["day a", "day b"]], "day b", 10);
    let is_told = page.contains("button \"day b\" [ref=e6] [selected]");
    assert!(page.contains("\"day b\"") && !is_told, "it does not fill its cell: {page}");
}

#[test]
fn swatches_of_one_name_tell_their_colors() {
    let shown = |names: [&str; 2], colors: [&str; 2]| {
        let mut page = Page::new();
        let around = page.add(0, "DIV", &[], "", [0, 0, 300, 40]);
        for (name, color) in names.into_iter().zip(colors) {
            let swatch = page.add(around, "BUTTON", &["aria-label", name], color, [0, 0, 20, 20]);
            page.accessible.push(json!({
                "backendDOMNodeId": swatch, "role": { "value": "button" }, "name": { "value": name },
            }));
        }
        page.shown(true)
    };
    let (red, blue) = ("rgb(255, 0, 0)", "rgb(0, 0, 255)");
    let page = shown(["swatch", "swatch"], [red, blue]);
    assert!(page.contains("[color=\"#ff0000\"]") && page.contains("[color=\"#0000ff\"]"), "{page}");
    assert!(!shown(["swatch", "swatch"], [red, red]).contains("color="), "the same color");
    assert!(!shown(["swatch", "other"], [red, blue]).contains("color="), "other names");
}

#[test]
fn description_of_several_is_not_all_that_is_told() {
    let shown = |descriptions: [&str; 2]| {
        let mut page = Page::new();
        for (description, testid) in descriptions.into_iter().zip(["one", "two"]) {
            let button = page.add(0, "BUTTON", &["data-testid", testid], "", [0, 0, 20, 20]);
            page.accessible.push(json!({
                "backendDOMNodeId": button, "role": { "value": "button" }, "description": { "value": description },
            }));
        }
        page.shown(true)
    };
    let page = shown(["Drag it", "Drag it"]);
    assert!(page.contains("[description=\"Drag it\"] [data-testid=\"two\"]"), "{page}");
    let page = shown(["Drag it", "Drop it"]);
    assert!(page.contains("[description=\"Drop it\"]") && !page.contains("data-testid"), "{page}");
}

#[test]
fn text_in_red_at_a_field_says_what_is_wrong() {
    let shown = |tags: [&str; 2], class: &str, text: &str, kind: &str| {
        let mut page = Page::new();
        let form = page.add(0, "DIV", &[], "", [0, 0, 300, 200]);
        page.add(form, "INPUT", &["type", kind, "aria-label", "name"], "", [0, 100, 200, 20]);
        let around = page.add(form, tags[0], &[], "", [0, 0, 200, 20]);
        page.block(around, tags[1], &["class", class], text);
        page.shown(true)
    };
    let is_told = |class: &str, text: &str| shown(["DIV", "P"], class, text, "text").contains(text);
    for class in ["text-sm text-red-600", "mt-3 text-rose-500", "text-destructive"] {
        assert!(is_told(class, "is too short"), "{class}");
    }
    assert!(is_told("text-red-600", "a\u{5bc6}\u{7801}"), "two Chinese characters");
    for class in ["text-sm", "bg-red-600", "text-redder", "text-red-", "text-destructive-foreground"] {
        assert!(!is_told(class, "is too short"), "{class}");
    }
    for text in ["now 19.99", "*", "new", &"a long text ".repeat(50)] {
        assert!(!is_told("text-red-600", text), "{text}");
    }
    assert!(!shown(["TR", "TD"], "text-red-600", "overdue", "text").contains("overdue"), "a state of a row");
    assert!(!shown(["DIV", "LABEL"], "text-red-600", "your name", "text").contains("your name"), "a label");
    let searched = shown(["DIV", "P"], "text-red-600", "ends today", "search");
    assert!(!searched.contains("ends"), "no field that may be wrong: {searched}");
}

#[test]
fn picture_has_the_words_that_only_readers_of_screens_get() {
    // A box with this background, border and height, in which a text has a box of this size that hides what is outside of it.
    let shown = |role: &str, color: &str, height: i64, size: i64, text: &str| {
        let mut page = Page::new();
        page.block(0, "P", &[], "before");
        let picture = page.add(0, "SPAN", &[], color, [0, 100, 60, height]);
        let hidden = page.add(picture, "SPAN", &[], "", [0, 100, size, size]);
        let style = page.string("hidden");
        page.styles[usize::try_from(hidden).unwrap()][4] = style;
        page.styles[usize::try_from(hidden).unwrap()][5] = style;
        page.add(hidden, text, &[], "", [0, 100, 40, 18]);
        page.accessible.push(json!({ "backendDOMNodeId": picture, "role": { "value": role } }));
        page.shown(false)
    };
    let red = "rgb(255, 0, 0)";
    let stars = shown("generic", red, 20, 1, "four of five stars");
    assert!(stars.contains("- img \"four of five stars\""), "{stars}");
    let spinner = shown("status", red, 20, 1, "it is loading");
    assert!(spinner.contains("- status \"it is loading\""), "{spinner}");
    for (color, height, text) in [
        ("rgba(0, 0, 0, 0)", 20, "nothing is drawn"),
        (red, 400, "a part of a page"),
        (red, 20, &"a long text ".repeat(20)),
    ] {
        let page = shown("generic", color, height, 1, text);
        assert!(!page.contains(text.trim()) && page.contains("before"), "{page}");
    }
    let seen = shown("generic", red, 20, 50, "seen text");
    assert!(seen.contains("seen text") && !seen.contains("- img"), "control: {seen}");
}

#[test]
fn name_is_found_with_and_without_the_blanks_of_its_design() {
    let page = |names: &[&str]| {
        let mut page = Page::new();
        for (place, name) in (0..).zip(names) {
            page.add(0, "BUTTON", &["aria-label", name], "", [0, 30 * place, 60, 20]);
        }
        page
    };
    let (glued, spaced) = ("\u{767b}\u{5f55}", "\u{767b} \u{5f55}");
    for (drawn, asked) in [(spaced, glued), (glued, spaced), (glued, glued), (spaced, spaced)] {
        let page = page(&[drawn, "\u{767b}\u{8bb0}"]);
        for condition in [format!("=\"{asked}\""), format!("^=\"{asked}\"")] {
            assert_eq!(page.count(&format!("role=button[name{condition}]")), 1, "{drawn} {condition}");
        }
        assert_eq!(page.count(&format!("text={asked}")), 1, "{drawn} {asked}");
        assert_eq!(page.count("role=button[name=\"\u{5f55}\u{767b}\"]"), 0, "another order");
    }
    let both = page(&[glued, spaced]);
    assert_eq!(both.count(&format!("role=button[name=\"{glued}\"]")), 1, "the one that is called so comes first");
    assert_eq!(page(&["Log in"]).count("role=button[name=Login]"), 0, "blanks between words count");
}

#[test]
fn field_below_a_row_of_labels_is_near_that_of_its_column() {
    // Cells of a layout, the labels of which are in the row above.
    let shown = |labels: &[&str], fields: usize| {
        let mut page = Page::new();
        let grid = page.add(0, "DIV", &[], "", [0, 0, 600, 60]);
        let row = page.add(grid, "DIV", &[], "", [0, 0, 600, 20]);
        for (place, label) in (0..).zip(labels) {
            let cell = page.add(row, "DIV", &[], "", [200 * place, 0, 190, 20]);
            page.add(cell, label, &[], "", [200 * place, 0, 50, 18]);
        }
        for y in [30, 60] {
            let row = page.add(grid, "DIV", &[], "", [0, y, 600, 20]);
            for place in (0..).take(fields) {
                let cell = page.add(row, "DIV", &[], "", [200 * place, y, 190, 20]);
                page.add(cell, "INPUT", &[], "", [200 * place, y, 180, 20]);
            }
        }
        page.shown(true)
    };
    let near = |shown: &str| -> Vec<String> {
        shown.lines().map(|line| line.split("near=").nth(1).unwrap_or_default().to_owned()).collect()
    };
    let heads = ["\"name\"]", "\"count\"]", "\"price\"]"];
    let page = shown(&["name", "count", "price"], 3);
    assert_eq!(near(&page), [heads, heads].concat(), "{page}");
    let one = shown(&["new things"], 3);
    assert!(!near(&one)[1..3].contains(&"\"new things\"]".to_owned()), "control: a title is no label: {one}");
}

#[test]
fn mark_that_opens_an_entry_of_a_tree_has_a_reference() {
    let shown = |class: &str, states: Value, text: Option<&str>| {
        let mut page = Page::new();
        let entry = page.add(0, "DIV", &["tabindex", "0"], "", [0, 0, 300, 30]);
        page.accessible.push(json!({
            "backendDOMNodeId": entry, "role": { "value": "treeitem" }, "name": { "value": "a pier" }, "properties": states,
        }));
        let line = page.add(entry, "DIV", &["class", "line"], "", [0, 0, 300, 30]);
        page.styles[usize::try_from(line).unwrap()][2] = page.string("pointer");
        let mark = page.add(line, "DIV", &["class", class], "", [0, 0, 24, 24]);
        page.add(mark, "SVG", &["class", "chevron"], "", [4, 4, 16, 16]);
        text.map(|text| page.add(mark, text, &[], "", [0, 0, 20, 18]));
        page.block(line, "SPAN", &[], "a pier");
        page.shown(true)
    };
    let (mark, closed) = ("entry__expand-button", json!([{ "name": "expanded", "value": { "value": false } }]));
    let seen = shown(mark, closed.clone(), None);
    assert!(seen.contains("[class=\"entry__expand-button\"]") && seen.contains("[collapsed]"), "{seen}");
    for (class, states, text) in [("icon", closed.clone(), None), (mark, json!([]), None), (mark, closed, Some("more"))]
    {
        let other = shown(class, states, text);
        assert!(!other.contains("expand-button"), "control: {other}");
    }
}

#[test]
fn nodes_of_a_diagram_on_its_plane_have_references() {
    let shown = |is_focusable: bool, is_placed: bool| {
        let mut page = Page::new();
        let attributes: &[&str] = if is_focusable { &["tabindex", "0"] } else { &[] };
        let diagram = page.add(0, "DIV", attributes, "", [0, 0, 800, 400]);
        let plane = page.add(diagram, "DIV", &["class", "plane"], "", [0, 0, 800, 400]);
        for (place, words) in (0..).zip(["a gauge", "a horn"]) {
            let around = page.add(plane, "DIV", &["class", "around"], "", [0, 0, 800, 0]);
            let node = page.block(around, "DIV", &["class", "node"], words);
            page.bounds[usize::try_from(node).unwrap()] = [200 * place, 50, 160, 40];
            let style = page.string(if is_placed { "absolute" } else { "static" });
            page.styles[usize::try_from(node).unwrap()].extend([style; 4]);
        }
        page.listen(diagram, &["mousedown", "mouseup"]);
        page.shown(true)
    };
    let seen = shown(true, true);
    assert!(["a gauge", "a horn"].iter().all(|name| seen.contains(&format!("- clickable \"{name}\" [ref="))), "{seen}");
    for (is_focusable, is_placed) in [(false, true), (true, false)] {
        let other = shown(is_focusable, is_placed);
        assert!(!other.contains("- clickable \"a gauge\""), "control: {other}");
    }
}

#[test]
fn text_that_a_style_shows_in_a_hidden_element_is_found() {
    let is_found = |text: &str, is_shown: bool| {
        let mut page = Page::new();
        let around = page.block(0, "P", &[], "hidden words");
        let after = page.add(around, "::after", &[], "", [0, 20, 90, 20]);
        let shown = page.string("shown instead");
        page.dom["nodeValue"][usize::try_from(after).unwrap()] = shown.into();
        let hidden = page.string("hidden");
        for node in [around, around + 1].into_iter().chain((!is_shown).then_some(after)) {
            page.styles[usize::try_from(node).unwrap()][1] = hidden;
        }
        let chain = crate::selector::SelectorChain::parse(text).expect("a chain");
        let found = Finder::new(&[page.part()], [], |_| false).find(chain.parts(), &[], Reach::Page);
        found.iter().any(|element| element.is_visible)
    };
    for text in ["text=shown", "text=\"shown instead\""] {
        assert!(is_found(text, true), "{text}");
        assert!(!is_found(text, false), "control: {text}");
    }
    for text in ["text=hidden words", "text=\"hidden words\"", "text=words"] {
        assert!(!is_found(text, true), "nobody sees it: {text}");
    }
}

/// Returns a page with an HTML table of these rows of cells, which are bold in the first row if that is wanted. `_` is a field in a cell,
/// `+` a table, and a text with a blank in front of it has a long text behind it.
fn table_of(rows: &[&[&str]], is_bold: bool) -> Page {
    let mut page = Page::new();
    let table = page.add(0, "TABLE", &[], "rgba(0, 0, 0, 0)", [0, 0, 600, 400]);
    let body = page.add(table, "TBODY", &[], "rgba(0, 0, 0, 0)", [0, 0, 600, 400]);
    for (y, cells) in (0..).zip(rows) {
        let row = page.add(body, "TR", &[], "rgba(0, 0, 0, 0)", [0, 30 * y, 600, 20]);
        for (x, text) in (0..).zip(*cells) {
            let bounds = [100 * x, 30 * y, 90, 20];
            let cell = page.add(row, "TD", &[], "rgba(0, 0, 0, 0)", bounds);
            let is_head = is_bold && y == 0;
            let around = if is_head { page.add(cell, "B", &[], "rgba(0, 0, 0, 0)", bounds) } else { cell };
            match *text {
                "" => {}
                "_" => {
                    page.add(around, "INPUT", &[], "", bounds);
                }
                "+" => {
                    page.add(around, "TABLE", &[], "", bounds);
                }
                text if text.starts_with(' ') => {
                    page.add(around, &text.trim().repeat(100), &[], "", bounds);
                }
                text => {
                    page.add(around, text, &[], "", bounds);
                }
            }
        }
    }
    page
}

#[test]
fn table_with_bold_heads_is_read_by_its_cells() {
    let rows: &[&[&str]] = &[&["part", "count", "note"], &["bolt", "many", ""], &["nut", "", "rare"]];
    let page = table_of(rows, true).shown(false);
    let cells = |row: &[&str], role: &str| {
        let cell =
            |text: &&str| if text.is_empty() { format!("\n    - {role}") } else { format!("\n    - {role} {text:?}") };
        format!("\n  - row{}", row.iter().map(cell).collect::<String>())
    };
    let seen = page.lines().map(|line| line.split(" [ref").next().unwrap()).collect::<Vec<_>>().join("\n");
    let expected =
        format!("- table{}{}{}", cells(rows[0], "columnheader"), cells(rows[1], "cell"), cells(rows[2], "cell"));
    assert_eq!(seen, expected, "{page}");
    let plain = table_of(rows, false).shown(false);
    assert!(plain.contains("- row\n") && plain.matches("- cell").count() == 9, "an empty cell among others: {plain}");
    let fields = table_of(&[&["part", "count"], &["_", "_"]], true).shown(true);
    assert!(fields.contains("[near=\"part\"]") && fields.contains("[near=\"count\"]"), "{fields}");
}

#[test]
fn table_that_only_lays_out_a_page_is_none() {
    let is_table = |rows: &[&[&str]], is_bold| table_of(rows, is_bold).shown(false).contains("- table");
    assert!(is_table(&[&["a", "b"], &["c", "d"]], true), "control");
    assert!(!is_table(&[&["a", "b"], &["c", "d"]], false), "no heads");
    assert!(!is_table(&[&["name", "_"], &["city", "_"], &["zip", "_"]], false), "a form");
    assert!(!is_table(&[&["a", "b"]], true) && !is_table(&[&["a"], &["b"], &["c"]], true), "one row, one column");
    assert!(!is_table(&[&["a", "b"], &["c", "d", "e"], &["f"]], true), "rows of several lengths");
    assert!(!is_table(&[&["menu", "b"], &["c", "+"]], true), "a table in it");
    assert!(!is_table(&[&["menu", "b"], &["c", " long text of a page"]], true), "a large part of a page");
    assert!(!is_table(&[&["a", "b", "c"], &["d", "e", "f"], &["g", "h", "i"]], false), "nothing is empty");
}

#[test]
fn empty_box_of_rows_and_columns_is_read() {
    let shown = |rows: &[&[&str]], shift: i64, has_rows: bool, kinds: &[&str]| {
        let mut page = Page::new();
        let grid = page.add(0, "DIV", &[], "", [0, 0, 600, 400]);
        let display = page.string("grid");
        page.styles[usize::try_from(grid).unwrap()][0] = display;
        for (y, cells) in (0..).zip(rows) {
            let row = if has_rows { page.add(grid, "DIV", &[], "", [0, 30 * y, 600, 20]) } else { grid };
            page.listen(row, kinds);
            for (x, text) in (0..).zip(*cells) {
                let bounds = [100 * x + shift * y, 30 * y, 90, 20];
                let cell = page.add(row, "DIV", &[], "", bounds);
                if !text.is_empty() {
                    page.add(cell, text, &[], "", bounds);
                }
            }
        }
        page.shown(false)
    };
    let rows: &[&[&str]] = &[&["part", "count", "note"], &["bolt", "many", ""], &["nut", "", "rare"]];
    for has_rows in [true, false] {
        let page = shown(rows, 0, has_rows, &[]);
        let names: Vec<_> = page.lines().filter(|line| line.trim_start().starts_with("- cell")).collect();
        assert_eq!(names.len(), 9, "{page}");
        assert!(names[5].trim() == "- cell" && names[7].trim() == "- cell" && names[8].contains("rare"), "{page}");
        assert_eq!(page.matches("- row").count(), if has_rows { 3 } else { 0 }, "{page}");
        assert!(!shown(rows, 17, has_rows, &[]).contains("- cell"), "no columns");
        let full: &[&[&str]] = &[&["part", "count"], &["bolt", "many"], &["nut", "few"]];
        assert!(!shown(full, 0, has_rows, &[]).contains("- cell"), "none is empty");
    }
    let menu: &[&[&str]] = &[&["inbox", "many"], &["drafts", ""], &["spam", "few"]];
    assert!(shown(menu, 0, true, &[]).contains("- cell") && !shown(menu, 0, true, &["pointerup"]).contains("- cell"));
}

#[test]
fn day_of_two_calendars_is_near_its_month() {
    let shown = |titles: [&str; 2]| {
        let mut page = Page::new();
        for (x, title) in [0, 300].into_iter().zip(titles) {
            let panel = page.add(0, "DIV", &[], "", [x, 0, 280, 200]);
            let head = page.add(panel, "DIV", &[], "", [x, 0, 280, 20]);
            page.add(head, title, &[], "", [x, 0, 90, 20]);
            let grid = page.add(panel, "TABLE", &[], "", [x, 30, 280, 100]);
            page.accessible.push(json!({ "backendDOMNodeId": grid, "role": { "value": "grid" } }));
            let days: &[&[&str]] =
                &[&["su", "mo", "tu"], &["1", "2", "3"], &["4", "5", if x > 0 { "31" } else { "30" }]];
            for (y, days) in (1..).zip(days) {
                let row = page.add(grid, "TR", &[], "", [x, 30 * y, 280, 20]);
                page.accessible.push(json!({ "backendDOMNodeId": row, "role": { "value": "row" } }));
                for (place, day) in (0..).zip(*days) {
                    let bounds = [x + 40 * place, 30 * y, 36, 20];
                    let cell = page.add(row, "TD", &[], "", bounds);
                    let (role, is_day) = if y == 1 { ("columnheader", false) } else { ("gridcell", true) };
                    page.accessible.push(json!({ "backendDOMNodeId": cell, "role": { "value": role } }));
                    let text = usize::try_from(page.add(cell, "x", &[], "", bounds)).unwrap();
                    page.dom["nodeValue"][text] = page.string(day).into();
                    if is_day {
                        page.listen(cell, &["pointerup"]);
                    }
                }
            }
        }
        page.shown(true)
    };
    let page = shown(["november 2026", "december 2026"]);
    for day in ["1", "2", "4", "5"] {
        let lines: Vec<_> = page.lines().filter(|line| line.contains(&format!("gridcell \"{day}\""))).collect();
        assert!(
            lines[0].contains("[near=\"november 2026\"]") && lines[1].contains("[near=\"december 2026\"]"),
            "{page}"
        );
    }
    assert!(!shown(["a month", "a month"]).contains("[near=\"a month\"]"), "control: one title for both");
}

#[test]
fn formula_is_read_in_one_line() {
    /// Adds the elements of a formula: `TAG(` begins one, `)` ends it, and other words are texts.
    fn formula(words: &str) -> Page {
        let mut page = Page::new();
        let mut around = vec![page.add(0, "MATH", &[], "", [0, 0, 90, 40])];
        for word in words.split(' ') {
            let last = *around.last().unwrap();
            match word.strip_suffix('(') {
                Some(tag) if !tag.is_empty() => around.push(page.add(last, tag, &[], "", [0, 0, 9, 9])),
                _ if word == ")" => {
                    around.pop();
                }
                _ => {
                    let (tag, text) = word.split_once(':').unwrap_or(("MI", word));
                    let own = page.add(last, tag, &[], "", [0, 0, 9, 9]);
                    let at = usize::try_from(page.add(own, "x", &[], "", [0, 0, 9, 9])).unwrap();
                    let text = page.string(text);
                    page.dom["nodeValue"][at] = text.into();
                    page.dom["nodeName"][at] = text.into();
                }
            }
        }
        page
    }
    for (words, text) in [
        ("MSUP( x MN:2 ) MO:+ MN:1", "x^2+1"),
        ("MSUP( e MROW( MO:- x ) )", "e^(-x)"),
        ("MFRAC( MROW( a MO:+ b ) MN:2 )", "(a+b)/2"),
        (
            "x MO:= MFRAC( MROW( MO:- b MO:± MSQRT( MSUP( b MN:2 ) MO:- MN:4 a c ) ) MROW( MN:2 a ) )",
            "x=(-b±√(b^2-4ac))/(2a)",
        ),
        ("MUNDEROVER( MO:∑ MROW( i MO:= MN:1 ) n ) MSUB( x i )", "∑_(i=1)^n x_i"),
        ("MROOT( x MN:3 )", "√[3](x)"),
        ("MI:sin x", "sin x"),
        ("MTABLE( MTR( MTD( a ) MTD( ) ) MTR( MTD( MN:0 ) MTD( MN:1 ) ) )", "[a, ; 0, 1]"),
        ("UNKNOWN( a MO:+ b )", "a+b"),
    ] {
        let page = formula(words);
        assert_eq!(page.shown(false), format!("- math {text:?}"), "{words}");
        assert_eq!(page.count(&format!("role=math[name=\"{text}\"]")), 1, "{words}");
    }
    let deep = formula(&format!("{}x{}", "MROW( ".repeat(60), " )".repeat(60)));
    assert!(deep.shown(false).contains("\"x\""), "what is too deep is read as it is: {}", deep.shown(false));
}
