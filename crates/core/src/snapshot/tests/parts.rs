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
        show(&[part], &Options { is_interactive, ..Options::default() })
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
