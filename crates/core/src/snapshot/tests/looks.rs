//! Looks by which a person sees, or does not see, what is in an element.

use serde_json::{Value, json};

use super::super::*;
use super::show;

/// Document that is made of nodes in a window of 1280 by 800 pixels. The first one is the document itself.
struct DrawnPage {
    strings: Vec<String>,
    parents: Vec<i64>,
    kinds: Vec<i64>,
    names: Vec<i64>,
    values: Vec<i64>,
    attributes: Vec<Vec<i64>>,
    styles: Vec<Vec<i64>>,
    bounds: Vec<[i64; 4]>,
    orders: Vec<i64>,
    /// Frames, each with the position of its document.
    frames: Vec<(i64, i64)>,
}

impl DrawnPage {
    fn new() -> Self {
        let (strings, parents, kinds, names, values) = (vec![String::new()], vec![], vec![], vec![], vec![]);
        let (attributes, styles, bounds, orders, frames) = (vec![], vec![], vec![], vec![], vec![]);
        let mut page = Self { strings, parents, kinds, names, values, attributes, styles, bounds, orders, frames };
        page.add(-1, "#document", "", [0, 0, 1280, 800], 0);
        page.add(0, "HTML", "", [0, 0, 1280, 3000], 1);
        page.add(1, "BODY", "", [0, 0, 1280, 3000], 1);
        page
    }

    fn string(&mut self, text: &str) -> i64 {
        self.strings.push(text.to_owned());
        i64::try_from(self.strings.len()).unwrap() - 1
    }

    /// Adds an element with these styles, or a text if its name is in lower case. Returns its position, and its id is the next number.
    fn add(&mut self, parent: i64, name: &str, css: &str, bounds: [i64; 4], order: i64) -> i64 {
        let own: Vec<_> = css.split("; ").filter_map(|style| style.split_once(": ")).collect();
        let usual = [("display", "block"), ("visibility", "visible"), ("opacity", "1"), ("color", "rgb(0, 0, 0)")];
        let style = |name: &str| {
            let found = own.iter().chain(&usual).find(|(style, _)| *style == name);
            found.map_or("", |(_, value)| *value).to_owned()
        };
        let styles: Vec<_> = STYLES.iter().map(|name| style(name)).collect();
        let styles = styles.iter().map(|style| self.string(style)).collect();
        let is_text = name.starts_with(char::is_lowercase);
        let kind = if is_text { 3 } else { 1 };
        self.parents.push(parent);
        self.kinds.push(if name == "#document" { 9 } else { kind });
        let name = self.string(name);
        self.names.push(name);
        self.values.push(if is_text { name } else { -1 });
        self.attributes.push(Vec::new());
        self.styles.push(styles);
        self.bounds.push(bounds);
        self.orders.push(order);
        i64::try_from(self.parents.len()).unwrap() - 1
    }

    /// Adds a line of text with these styles.
    fn text(&mut self, parent: i64, text: &str, css: &str, y: i64, order: i64) {
        let line = self.add(parent, "P", css, [0, y, 400, 20], order);
        self.add(line, text, css, [0, y, 100, 18], order);
    }

    fn attribute(&mut self, node: i64, name: &str, value: &str) {
        let pair = [self.string(name), self.string(value)];
        self.attributes[usize::try_from(node).unwrap()].extend(pair);
    }

    fn document(&self, strings: &mut Vec<String>) -> Value {
        // The strings of all documents are in one table.
        let begin = i64::try_from(strings.len()).unwrap();
        strings.extend(self.strings.iter().cloned());
        let moved = |all: &[i64]| all.iter().map(|at| if *at < 0 { -1 } else { at + begin }).collect::<Vec<_>>();
        let lists = |all: &[Vec<i64>]| all.iter().map(|own| moved(own)).collect::<Vec<_>>();
        let count = self.parents.len();
        let (frames, contents): (Vec<_>, Vec<_>) = self.frames.iter().copied().unzip();
        json!({
            "nodes": {
                "parentIndex": self.parents, "nodeType": self.kinds, "nodeName": moved(&self.names),
                "nodeValue": moved(&self.values), "backendNodeId": (1..=count).collect::<Vec<_>>(),
                "attributes": lists(&self.attributes), "contentDocumentIndex": { "index": frames, "value": contents },
                "inputValue": { "index": [], "value": [] },
            },
            "layout": {
                "nodeIndex": (0..count).collect::<Vec<_>>(), "bounds": self.bounds, "styles": lists(&self.styles),
                "text": moved(&self.values), "paintOrders": self.orders,
            },
            "contentWidth": 1280, "contentHeight": 3000,
        })
    }

    fn shown(&self) -> String {
        show(&[part(&[self])], &Options::default())
    }
}

/// Returns the part of a page with these documents.
fn part(pages: &[&DrawnPage]) -> Part {
    let mut strings = Vec::new();
    let documents: Vec<_> = pages.iter().map(|page| page.document(&mut strings)).collect();
    let capture = json!({ "strings": strings, "documents": documents });
    Part { documents: Document::parse_all(&capture.to_string(), &|_| {}).expect("a capture"), ..Part::default() }
}

const WHITE: &str = "color: rgb(255, 255, 255)";

#[test]
fn fields_that_show_dots_are_known_by_their_style() {
    let dots = "-webkit-text-security: disc";
    let mut page = DrawnPage::new();
    for (name, css, kind) in [
        ("INPUT", dots, "text"),
        ("INPUT", dots, "unknown"),
        ("TEXTAREA", "-webkit-text-security: square", ""),
        ("DIV", dots, "editor"),
        ("INPUT", dots, "submit"),
        ("INPUT", "-webkit-text-security: none", "text"),
        ("P", dots, ""),
    ] {
        let field = page.add(2, name, css, [0, 0, 90, 20], 1);
        page.attribute(field, if kind == "editor" { "contenteditable" } else { "type" }, kind);
    }
    let part = part(&[&page]);
    assert_eq!(part.documents[0].dotted_fields().collect::<Vec<_>>(), [4, 5, 6, 7]);
}

#[test]
fn white_text_is_on_what_stays_behind_it() {
    let shown = |css: &str, order: i64, around: &str| {
        let mut page = DrawnPage::new();
        page.add(2, "DIV", css, [0, 0, 1280, 800], order);
        let around = page.add(2, "DIV", around, [0, 900, 1280, 900], 1);
        page.text(around, "below", WHITE, 1500, 1);
        page.shown().contains("below")
    };
    let back = "background-color: rgb(0, 0, 80); position: ";
    assert!(shown(&format!("{back}fixed; z-index: -1"), 2, ""));
    assert!(!shown(&format!("{back}absolute; z-index: -1"), 2, ""), "control: it is elsewhere");
    assert!(!shown(&format!("{back}fixed"), 2, ""), "it is in front of the text");
    assert!(!shown(&format!("{back}fixed; z-index: -1"), 2, "background-color: rgb(255, 255, 255)"), "white on white");
}

#[test]
fn what_is_fixed_out_of_the_window_is_not_read() {
    let shown = |css: &str, around: &str, y: i64| {
        let mut page = DrawnPage::new();
        let around = page.add(2, "DIV", around, [0, 900, 1280, 900], 1);
        let sheet = page.add(around, "DIV", css, [0, y, 1280, 200], 2);
        page.text(sheet, "sheet", "", y, 2);
        page.shown().contains("sheet")
    };
    assert!(shown("position: fixed", "", 600));
    assert!(!shown("position: fixed", "", 800));
    assert!(!shown("position: fixed", "overflow-y: auto", 800), "a person cannot scroll to it there either");
    assert!(!shown("position: fixed; overflow-y: auto", "", 800));
    assert!(shown("position: absolute", "", 800), "control");
    for around in ["transform: matrix(1, 0, 0, 1, 0, 9)", "filter: blur(2px)", "will-change: opacity, transform"] {
        assert!(shown("position: fixed", around, 900), "it is where what is around it is: {around}");
    }
}

#[test]
fn transparent_parts_below_the_window_are_counted() {
    let shown = |parts: &[(&str, i64)]| {
        let mut page = DrawnPage::new();
        for (css, y) in parts {
            let part = page.add(2, "SECTION", css, [0, *y, 1280, 300], 2);
            let inner = page.add(part, "DIV", "opacity: 0", [0, *y, 1280, 100], 3);
            page.text(inner, "late", "", *y, 3);
        }
        page.shown()
    };
    let one = "- more \"1 part appears only when scrolled to, and is not read: scroll down to it\"";
    assert_eq!(shown(&[("opacity: 0", 900)]), one);
    let two = "- more \"2 parts appear only when scrolled to, and are not read: scroll down to them\"";
    assert_eq!(shown(&[("opacity: 0.001", 900), ("", 1200)]), two);
    for (css, y, why) in [
        ("opacity: 0", 500, "it is in the window"),
        ("opacity: 0; position: absolute", 900, "it is none of the flow"),
        ("opacity: 0; clip-path: inset(100%)", 900, "it is cut off"),
    ] {
        assert!(!shown(&[(css, y)]).contains("more"), "{why}");
    }
}

#[test]
fn what_a_shape_cuts_off_covers_nothing() {
    let shown = |css: &str| {
        let mut page = DrawnPage::new();
        let card = page.add(2, "DIV", "position: relative", [0, 0, 400, 100], 2);
        page.text(card, "card", "", 10, 2);
        let css = format!("background-color: rgb(0, 0, 80); position: absolute{css}");
        page.add(card, "DIV", &css, [0, 0, 400, 100], 3);
        page.shown().contains("card")
    };
    assert!(!shown("") && !shown("; clip-path: inset(0px)"), "controls");
    assert!(shown("; clip-path: circle(0%)") && shown("; clip-path: polygon(0% 0%, 0% 0%, 0% 100%)"));
}

#[test]
fn opacity_counts_where_no_animation_goes_on() {
    let shown = |css: &str, y: i64| {
        let mut page = DrawnPage::new();
        let part = page.add(2, "DIV", &format!("opacity: 0; {css}"), [0, y, 1280, 100], 2);
        page.text(part, "part", "", y, 2);
        page.shown().contains("text \"part")
    };
    assert!(!shown("animation-name: nothing; animation-duration: 0s", 0));
    assert!(!shown("animation-name: come; animation-duration: 1s; animation-play-state: paused", 0));
    assert!(shown("animation-name: come; animation-duration: 1s; animation-play-state: running", 0), "it appears");
    assert!(shown("animation-name: come; animation-duration: 1s; animation-play-state: paused", 900), "below");
}

/// Returns a page around a frame, with the look of what is around that, and the document of the frame with a white text.
fn framed(around: &str) -> (DrawnPage, DrawnPage) {
    let (mut outer, mut inner) = (DrawnPage::new(), DrawnPage::new());
    let around = outer.add(2, "DIV", around, [0, 0, 400, 200], 1);
    outer.add(around, "IFRAME", "", [0, 0, 400, 200], 1);
    inner.text(2, "framed", WHITE, 10, 1);
    (outer, inner)
}

#[test]
fn text_of_a_frame_is_on_what_is_around_it() {
    for (around, is_read) in [
        ("", false),
        ("background-color: rgb(0, 0, 80)", true),
        ("background-color: rgb(255, 255, 255)", false),
        ("background-image: url(\"a.png\")", true),
    ] {
        let (mut outer, inner) = framed(around);
        outer.frames.push((4, 1));
        let mut same = [part(&[&outer, &inner])];
        Part::add_backdrops(&mut same);
        assert_eq!(show(&same, &Options::default()).contains("framed"), is_read, "{around}");
        outer.frames.clear();
        let mut other = [part(&[&outer]), Part { owner: Some((0, 5)), ..part(&[&inner]) }];
        Part::add_backdrops(&mut other);
        assert_eq!(show(&other, &Options::default()).contains("framed"), is_read, "another process: {around}");
    }
}

#[test]
fn dialog_in_front_of_a_mask_is_the_first() {
    let shown = |hidden: &str| {
        let mut page = DrawnPage::new();
        let main = page.add(2, "MAIN", "", [0, 0, 1280, 600], 1);
        page.attribute(main, "aria-hidden", hidden);
        page.text(main, "page", "", 10, 1);
        page.add(2, "DIV", "background-color: rgba(0, 0, 0, 0.8); position: fixed", [0, 0, 1280, 800], 2);
        let dialog = page.add(2, "DIV", "position: fixed", [100, 100, 300, 300], 3);
        let button = page.add(dialog, "BUTTON", "", [100, 100, 90, 20], 3);
        page.attribute(button, "aria-label", "Yes");
        let tree = json!({ "nodes": [
            { "backendDOMNodeId": dialog + 1, "role": { "value": "dialog" }, "name": { "value": "Sure" } },
        ] });
        let mut part = part(&[&page]);
        part.accessibility.add(&tree.to_string(), &|_| {}).expect("a tree");
        let shown = show(&[part], &Options::default());
        let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
        place("dialog") < place("page")
    };
    assert!(shown("true"));
    assert!(!shown("false"), "control: nothing says that the rest is hidden");
}
