//! Looks by which a person sees, or does not see, what is in an element.

use std::collections::HashSet;

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

#[test]
fn transparent_element_is_not_read_if_no_animation_shows_it() {
    let mut page = DrawnPage::new();
    for (css, name) in [("opacity: 0", "turned"), ("opacity: 0", "fades in"), ("opacity: 0.5", "half")] {
        let css = format!("{css}; animation-name: come; animation-duration: 1s");
        let part = page.add(2, "DIV", &css, [0, 0, 400, 20], 2);
        page.add(part, name, "", [0, 0, 90, 18], 2);
    }
    let mut part = part(&[&page]);
    assert_eq!(part.documents[0].animated().collect::<Vec<_>>(), [4, 6]);
    part.documents[0].note_still(&HashSet::from([4]));
    assert_eq!(part.documents[0].animated().collect::<Vec<_>>(), [6]);
    let shown = show(&[part], &Options::default());
    assert!(!shown.contains("turned") && shown.contains("fades in") && shown.contains("half"), "{shown}");
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

#[test]
fn box_of_a_pixel_is_hidden_where_it_is_drawn_larger() {
    let shown = |around: &str, size: i64| {
        let mut page = DrawnPage::new();
        let around = page.add(2, "DIV", around, [0, 0, 600, 600], 1);
        let css = "overflow-x: hidden; overflow-y: hidden; position: absolute";
        let small = page.add(around, "SPAN", css, [10, 10, size, size], 2);
        page.add(small, "for readers", "", [10, 10, 90, 18], 2);
        page.shown().contains("for readers")
    };
    assert!(!shown("", 1) && shown("", 3), "controls");
    for larger in ["zoom: 3", "transform: matrix(3, 0, 0, 3, 0, 0)", "scale: 3"] {
        assert!(!shown(larger, 3), "{larger}");
        assert!(shown(larger, 12), "{larger}: not as large as that");
    }
    assert!(shown("zoom: 30", 30), "it can be read");
}

/// Returns the room of a box that is turned by some degrees with what is around it.
fn turned([left, top, width, height]: [f64; 4], degrees: f64) -> [i64; 4] {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let corners = [(left, top), (left + width, top), (left, top + height), (left + width, top + height)];
    let places = corners.map(|(x, y)| (500.0 + x * cos - y * sin, 300.0 + x * sin + y * cos));
    let least = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let (x, y) = (least(|place| place.0), least(|place| place.1));
    #[expect(clippy::cast_possible_truncation, reason = "they are small")]
    [x, y, most(|place| place.0) - x, most(|place| place.1) - y].map(|edge| edge.round() as i64)
}

#[test]
fn slide_is_beside_its_box_where_both_are_turned() {
    let shown = |degrees: f64, css: &str, overflow: &str, slide: f64| {
        let mut page = DrawnPage::new();
        let around = page.add(2, "DIV", css, turned([0.0, 0.0, 900.0, 300.0], degrees), 1);
        let slides = page.add(around, "DIV", overflow, turned([0.0, 0.0, 300.0, 200.0], degrees), 1);
        let slide_box = page.add(slides, "DIV", "", turned([slide, 0.0, 290.0, 200.0], degrees), 1);
        page.add(slide_box, "slide", "", turned([slide + 5.0, 20.0, 90.0, 18.0], degrees), 1);
        page.shown().contains("slide")
    };
    let hidden = "overflow-x: hidden; overflow-y: auto";
    for (degrees, css) in [
        (0.0, ""),
        (10.0, "transform: matrix(0.984808, 0.173648, -0.173648, 0.984808, 0, 0)"),
        (10.0, "rotate: 10deg"),
        (-75.0, "rotate: -75deg"),
        (90.0, "transform: matrix(0, 1, -1, 0, 0, 0)"),
    ] {
        assert!(shown(degrees, css, hidden, 0.0), "{css}");
        assert!(!shown(degrees, css, hidden, 310.0), "{css}");
        assert!(shown(degrees, css, "overflow-x: auto; overflow-y: auto", 310.0), "a person scrolls: {css}");
    }
    assert!(shown(45.0, "rotate: 45deg", hidden, 310.0), "boxes of other sizes take the same room");
}

#[test]
fn text_below_a_box_that_hides_it_is_not_read() {
    let page = |tag: &str, css: &str, height: i64, inner: &str| {
        let mut page = DrawnPage::new();
        let cut = page.add(2, tag, css, [0, 100, 400, height], 1);
        page.text(cut, "first line", "", 100, 1);
        let inner = page.add(cut, "DIV", inner, [0, 100 + height, 400, 40], 1);
        page.text(inner, "second line", "", 110 + height, 1);
        (page, cut)
    };
    let shown = |css: &str, height: i64, inner: &str| {
        let shown = page("DIV", css, height, inner).0.shown();
        assert!(shown.contains("first line"), "{css}: {shown}");
        shown.contains("second line")
    };
    let hidden = "overflow-x: hidden; overflow-y: hidden";
    assert!(!shown(hidden, 50, "") && !shown("overflow-x: clip; overflow-y: clip", 50, ""));
    assert!(shown("", 50, "") && shown("overflow-x: hidden; overflow-y: auto", 50, ""), "controls");
    assert!(shown(hidden, 500, ""), "a page may scroll a large box");
    assert!(shown(&format!("{hidden}; display: table-row"), 50, ""), "a cell is higher than its row");
    for opens in ["transition-duration: 0.3s", "animation-name: open; animation-duration: 1s"] {
        assert!(shown(&format!("{hidden}; {opens}"), 50, ""), "it may open: {opens}");
        assert!(shown(hidden, 50, &format!("{opens}; transform: matrix(1, 0, 0, 1, 0, 9)")), "it may come: {opens}");
    }
    assert!(!shown(hidden, 50, "transition-duration: 0.3s"), "it does not move");
    assert!(shown(hidden, 50, "position: fixed"), "nothing cuts it");
    let (mut opening, cut) = page("DIV", hidden, 50, "");
    opening.attribute(cut, "style", "height: 50.3px");
    assert!(opening.shown().contains("second line"), "a script opens it");
    assert!(page("MARQUEE", hidden, 50, "").0.shown().contains("second line"));
    let mut wheeled = part(&[&page("DIV", hidden, 50, "").0]);
    let mut listeners = PageListeners::default();
    listeners.add(4, "wheel");
    wheeled.documents[0].add_listeners(&listeners);
    assert!(show(&[wheeled], &Options::default()).contains("second line"), "a script scrolls it");
}

#[test]
fn text_outside_of_a_shape_is_not_read() {
    let shown = |css: &str, around: &str, y: i64| {
        let mut page = DrawnPage::new();
        let around = page.add(2, "DIV", around, [0, 0, 1280, 800], 1);
        let menu = page.add(around, "NAV", &format!("position: fixed; {css}"), [0, 0, 1280, 800], 2);
        page.text(menu, "menu", "position: absolute", y, 2);
        page.shown().contains("menu")
    };
    for path in ["circle(30px at calc(100% - 40px) 40px)", "inset(0px 0px 95%)", "polygon(0px 0px, 90px 0px, 0px 90px)"]
    {
        assert!(!shown(&format!("clip-path: {path}"), "", 300), "{path}");
        let scroller = format!("clip-path: {path}; overflow-x: auto; overflow-y: auto");
        assert!(!shown(&scroller, "", 300), "nobody scrolls it through a hole: {path}");
    }
    for path in ["circle(150% at 100% 0%)", "circle(300px at 0px 300px)", "inset(5%)", "url(\"#shape\")", "none"] {
        assert!(shown(&format!("clip-path: {path}"), "", 300), "{path}");
    }
    let half = "clip-path: inset(0px 0px 50%)";
    assert!(!shown(half, "", 600), "control");
    assert!(shown(&format!("{half}; overflow-x: auto; overflow-y: auto"), "", 600), "a person scrolls it");
    assert!(shown("clip-path: circle(200px at 0px 0px)", "zoom: 2", 300), "pixels are larger");
    assert!(!shown("clip-path: circle(200px at 0px 0px)", "", 300), "control");
    assert!(shown("clip-path: circle(90px at 0px 0px)", "transform: matrix(-1, 0, 0, 1, 0, 0)", 300), "mirrored");
    assert!(shown(&format!("{half}; animation-name: open; animation-duration: 1s"), "", 600), "it opens");
    let mut page = DrawnPage::new();
    let cut = page.add(2, "DIV", "clip-path: circle(30px)", [0, 0, 400, 400], 1);
    for (name, y) in [("DIALOG", 0), ("DIV", 20)] {
        let part = page.add(cut, name, "position: fixed", [0, y, 400, 20], 2);
        page.add(part, &format!("in {name}"), "", [0, y, 90, 18], 2);
    }
    assert!(page.shown().contains("in DIALOG") && !page.shown().contains("in DIV"), "it is in front of the page");
}

#[test]
fn text_behind_the_flow_is_hidden_by_a_background() {
    let shown = |around: &str, order: i64, between: &str, css: &str, own_order: i64| {
        let mut page = DrawnPage::new();
        let around = page.add(2, "DIV", around, [0, 0, 600, 300], order);
        let between = page.add(around, "DIV", between, [0, 0, 500, 200], order);
        let low = page.add(between, "DIV", css, [0, 0, 400, 100], own_order);
        page.text(low, "behind", "", 10, own_order);
        page.shown().contains("behind")
    };
    let (low, white) = ("position: absolute; z-index: -1", "background-color: rgb(255, 255, 255)");
    assert!(!shown(white, 1, "", low, 2), "it is none of the layers");
    assert!(!shown(&format!("{white}; position: relative"), 3, "", low, 2), "a layer that is painted later");
    assert!(!shown("", 1, white, low, 2), "an inner one");
    assert!(shown(&format!("{white}; position: relative; z-index: 0"), 2, "", low, 3), "a layer holds it");
    assert!(shown(white, 1, "", "z-index: -1", 1), "it has no place of its own");
    assert!(shown("", 1, "", low, 2), "nothing is in front of it");
    assert!(shown("background-color: rgba(255, 255, 255, 0.5)", 1, "", low, 2), "it is seen through it");
    assert!(shown(&format!("{white}; clip-path: inset(1px)"), 1, "", low, 2));
    let mut page = DrawnPage::new();
    let small = page.add(2, "DIV", white, [0, 0, 600, 20], 1);
    let low = page.add(small, "DIV", low, [0, 0, 400, 100], 2);
    page.text(low, "behind", "", 10, 2);
    assert!(page.shown().contains("behind"), "it is in front of a part of it");
}

#[test]
fn letters_are_seen_by_their_edges_and_shadows() {
    let shown = |css: &str| {
        let mut page = DrawnPage::new();
        page.text(2, "letters", css, 10, 1);
        page.shown().contains("letters")
    };
    let clear = "rgba(0, 0, 0, 0)";
    let edge = |fill: &str, edge: &str, width: &str| {
        shown(&format!(
            "color: {fill}; -webkit-text-fill-color: {fill}; -webkit-text-stroke-width: {width}; -webkit-text-stroke-color: {edge}"
        ))
    };
    assert!(edge(clear, "rgb(0, 0, 0)", "1px") && !edge(clear, "rgb(0, 0, 0)", "0px"));
    assert!(!edge(clear, clear, "1px") && !edge(clear, "rgb(255, 255, 255)", "1px"));
    assert!(edge("rgb(255, 255, 255)", "rgb(0, 0, 0)", "1px") && !edge("rgb(255, 255, 255)", clear, "1px"));
    assert!(shown("color: rgb(0, 0, 0); -webkit-text-fill-color: rgb(0, 0, 0)"), "control");
    let shadow =
        |shadow: &str| shown(&format!("color: {clear}; -webkit-text-fill-color: {clear}; text-shadow: {shadow}"));
    assert!(shadow("rgb(0, 0, 0) 0px 0px 5px") && shadow("color(srgb 0 0 0) 0px 0px 5px"));
    assert!(shadow("rgb(255, 255, 255) 1px 1px 0px, rgb(200, 0, 0) 2px 2px 0px"));
    assert!(!shadow("none") && !shadow("rgb(255, 255, 255) 1px 1px 2px") && !shadow("rgba(0, 0, 0, 0) 1px 1px 2px"));
}

#[test]
fn frame_with_a_background_covers_a_text() {
    let is_read = |background: &str, css: &str| {
        let (mut outer, mut inner) = (DrawnPage::new(), DrawnPage::new());
        let around = outer.add(2, "DIV", "position: relative", [0, 0, 400, 200], 2);
        outer.text(around, "loading", "", 10, 2);
        let frame = outer.add(around, "IFRAME", css, [0, 0, 400, 200], 3);
        let place = STYLES.iter().position(|style| *style == "background-color").unwrap();
        inner.styles[2][place] = inner.string(background);
        inner.text(2, "map", "", 10, 1);
        outer.frames.push((frame, 1));
        let mut same = [part(&[&outer, &inner])];
        Part::add_backdrops(&mut same);
        outer.frames.clear();
        let owner = u64::try_from(frame).unwrap() + 1;
        let mut other = [part(&[&outer]), Part { owner: Some((0, owner)), ..part(&[&inner]) }];
        Part::add_backdrops(&mut other);
        let [same, other] = [&same[..], &other].map(|parts| show(parts, &Options::default()).contains("loading"));
        assert_eq!(same, other, "{background} {css}");
        same
    };
    let white = "rgb(255, 255, 255)";
    assert!(!is_read(white, "position: absolute"));
    assert!(is_read("", "position: absolute"), "it is seen through the frame");
    assert!(is_read(white, ""), "it is beside the text");
    assert!(
        is_read(white, "position: absolute; opacity: 0.5") && is_read(white, "position: absolute; visibility: hidden")
    );
}
