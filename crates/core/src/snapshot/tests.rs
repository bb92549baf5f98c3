use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::pdf::{Pdf, Unread};

mod looks;
mod parts;

/// Page with controls of all kinds, frames of the same and of another process, and shadow trees, as Chromium reported it.
const CONTROLS: &str = include_str!("fixtures/controls.json");

fn parts(text: &str) -> Vec<Part> {
    let captures: Vec<Value> = serde_json::from_str(text).expect("a fixture is JSON");
    let part = |capture: &Value| {
        let mut part = Part {
            documents: Document::parse_all(&capture["dom"].to_string(), &|_| {}).expect("a capture"),
            owner: capture["owner"].as_u64().map(|owner| (0, owner)),
            ..Part::default()
        };
        part.accessibility.add(&capture["ax"].to_string(), &|_| {}).expect("a tree");
        part
    };
    captures.iter().map(part).collect()
}

fn show(parts: &[Part], options: &Options) -> String {
    let data = View::of(parts, options).expect("the node exists").to_data("http://shop.example.com/", |key| {
        Some(u32::try_from(key.part * 1000 + key.document * 500).unwrap() + u32::try_from(key.node).unwrap())
    });
    data["snapshot"].as_str().unwrap().to_owned()
}

#[test]
fn page_matches_golden() {
    insta::assert_snapshot!(show(&parts(CONTROLS), &Options::default()));
}

#[test]
fn interactive_view_matches_golden() {
    insta::assert_snapshot!(show(&parts(CONTROLS), &Options { is_interactive: true, ..Options::default() }));
}

#[test]
fn compact_view_leaves_structure_out() {
    let page = show(&parts(CONTROLS), &Options { is_compact: true, ..Options::default() });
    assert!(!page.contains("- table") && page.contains("- columnheader \"K\""), "{page}");
    let flat = show(&parts(CONTROLS), &Options { depth: Some(0), ..Options::default() });
    assert_eq!(flat, "- clickable [ref=e25] [id=\"root\"]");
}

#[test]
fn compact_view_keeps_rows_and_empty_cells() {
    let row = |children: Vec<Item>| Item { children, ..Item::new("row", "") };
    let rows = vec![row(vec![Item::new("cell", ""), Item::new("cell", "7")]), row(vec![Item::new("cell", "8")])];
    let table = Item { children: rows, ..Item::new("table", "") };
    let items = compact(vec![Item { children: vec![table], ..Item::new("main", "") }]);
    let shown: Vec<_> = items.iter().map(|item| (item.role.as_str(), item.children.len())).collect();
    assert_eq!(shown, [("row", 2), ("row", 1)]);
}

#[test]
fn long_text_of_an_editor_is_cut_between_words() {
    let text = format!("{}Hunter2xyz {}", "word ".repeat(99), "more ".repeat(9000));
    let mut view = View { is_interactive: true, ..View::default() };
    for (name, text) in [("value", text.as_str()), ("value", "short"), ("url", &text)] {
        view.push(&Item { states: vec![(name, text.into())], ..Item::new("textbox", "") }, 0, None);
    }
    view.cut_values();
    let shown: Vec<_> = view.lines.iter().map(|line| line.states[0].1.as_str().unwrap()).collect();
    let begin = format!("{}…", "word ".repeat(99).trim_end());
    assert_eq!(shown, [begin.as_str(), "short", text.as_str()], "no part of a word, and no other state");
}

#[test]
fn snapshot_of_a_node_is_that_node() {
    let key = |node| NodeKey { part: 0, document: 0, node };
    let list = show(&parts(CONTROLS), &Options { root: Some(key(134)), ..Options::default() });
    assert_eq!(list, "- link \"del\" [ref=e134]");
    assert!(View::of(&parts(CONTROLS), &Options { root: Some(key(99_999)), ..Options::default() }).is_none());
}

#[test]
fn secret_values_are_in_no_line() {
    let page = show(&parts(CONTROLS), &Options::default());
    assert!(!page.contains("hunter2") && !page.contains("445566"), "{page}");
    assert!(page.contains("[value=\"Ann\"]"), "control");
    let mut parts = parts(CONTROLS);
    parts[0].secret_fields.insert(6);
    assert!(!show(&parts, &Options::default()).contains("Ann"), "a field that was a secret one");
}

#[test]
fn field_whose_name_says_secret_shows_no_value() {
    for name in ["API key", "Access token", "my \\\"secret\\\""] {
        let page = show(&parts(&CONTROLS.replace("\"Name\"", &format!("\"{name}\""))), &Options::default());
        assert!(page.contains("[filled]") && !page.contains("Ann"), "{name}: {page}");
    }
}

#[test]
fn label_stands_for_a_control_that_cannot_be_seen() {
    let page = show(&parts(CONTROLS), &Options::default());
    assert!(page.contains("- checkbox \"Styled\" [ref=e127]"), "{page}");
    assert!(!page.contains("- label"), "a visible control has no label of its own: {page}");
}

#[test]
fn refused_frame_is_left_out() {
    let mut parts = parts(CONTROLS);
    assert!(show(&parts, &Options::default()).contains("Inner button"), "control");
    let frame = parts[1].documents[0].frame.clone();
    parts[1].refused_frames.insert(frame);
    let page = show(&parts, &Options::default());
    assert!(!page.contains("Inner button") && page.contains("- document [refused]"), "{page}");
}

#[test]
fn frame_with_pdf_is_shown_as_what_it_is() {
    let mut parts = parts(CONTROLS);
    let frame = parts[1].documents[0].frame.clone();
    parts[1].pdf_frames.insert(frame.clone(), Pdf { text: "Total 7\n\nEUR".to_owned(), pages: 2, unread: None });
    parts[1].documents[0].url = "https://example.com/bills/may.pdf?token=1".to_owned();
    let page = show(&parts, &Options::default());
    assert!(
        !page.contains("Inner button") && page.contains("- document \"may.pdf\" [ref=e183] [PDF] [pages=2]\n"),
        "{page}"
    );
    assert!(page.contains("  - text \"Total 7\"\n") && page.contains("  - text \"EUR\""), "{page}");
    parts[1].pdf_frames.insert(frame.clone(), Pdf { text: "line\n".repeat(50), pages: 1, unread: None });
    let page = show(&parts, &Options::default());
    assert!(page.matches("\"line\"").count() == 40 && page.contains("[more=\"10 lines"), "{page}");
    parts[1].pdf_frames.insert(frame, Pdf::unread(Unread::Locked));
    let page = show(&parts, &Options::default());
    assert!(page.contains("[unread=\"it opens with a password only\""), "{page}");
    let frame = parts[0].documents[0].frame.clone();
    parts[0].pdf_frames.insert(frame, Pdf { text: "line\n".repeat(50), pages: 1, unread: None });
    let page = show(&parts, &Options::default());
    assert!(page.starts_with("- document") && page.matches("\"line\"").count() == 50, "the page itself: {page}");
}

/// Returns the ids of the elements of a chain: those of the page, or of all frames if it has none.
fn find(parts: &[Part], chain: &str) -> Vec<u64> {
    let chain = crate::selector::SelectorChain::parse(chain).unwrap_or_else(|| panic!("`{chain}` is no chain"));
    let finder = Finder::new(parts, ["falls".to_owned()], |_| false);
    let css = [CssMatches::from([(0, 134), (0, 139), (1, 10)])];
    let found = |reach| finder.find(chain.parts(), &css, reach).iter().map(|found| found.key.node).collect::<Vec<_>>();
    let page = found(Reach::Page);
    if page.is_empty() { found(Reach::Frames) } else { page }
}

#[test]
fn chains_find_what_snapshots_show() {
    let parts = parts(CONTROLS);
    for (chain, expected) in [
        ("role=button[name=\"Size: 42\"]", &[29][..]),
        ("role=button[name=\"size: 42\"]", &[]),
        ("role=button[name=\"size: 42\"i]", &[29]),
        ("role=button[name=\"Note #2 {a} [b] \\\"c\\\"\"]", &[33]),
        ("role=heading[level=1]", &[26]),
        ("role=heading[level=2]", &[]),
        ("role=checkbox[checked]", &[12]),
        ("role=radio[checked=false]", &[53]),
        ("role=button[disabled]", &[74]),
        ("role=button[pressed][expanded=false]", &[158]),
        ("role=tab[selected]", &[156]),
        ("role=combobox[name=Size2]", &[10]),
        ("role=checkbox[name=Styled]", &[127]),
        ("role=clickable[name=\"Click me\"]", &[95]),
        ("role=listitem >> nth=-1 >> role=link", &[139]),
        ("a >> nth=1", &[139]),
        ("a >> text=del >> nth=0", &[134]),
        ("text=Open shadow", &[173]),
        ("text=closed  SHADOW", &[178]),
        ("text=\"In frame\"", &[195]),
        ("role=button[name=\"Inner button\"]", &[10]),
        ("text=Nowhere", &[]),
    ] {
        assert_eq!(find(&parts, chain), expected, "{chain}");
    }
}

#[test]
fn nothing_is_found_by_a_secret() {
    let mut parts = parts(CONTROLS);
    assert_eq!(find(&parts, "role=textbox[name=Secret]").len(), 1, "control");
    for secret in ["hunter2", "445566", "falls"] {
        assert!(find(&parts, &format!("text={secret}")).is_empty(), "{secret}");
        assert!(find(&parts, &format!("role=button[name*=\"{secret}\"]")).is_empty(), "{secret}");
    }
    // The value of a field in the name of another element.
    let named = CONTROLS.replace("\"Size: 42\"", "\"Size: 445566\"");
    let named = self::parts(&named);
    assert_eq!(find(&named, "role=button[name^=\"Size: \"]"), [29], "control");
    assert!(find(&named, "role=button[name^=\"Size: 4\"]").is_empty());
    let frame = parts[1].documents[0].frame.clone();
    assert_eq!(find(&parts, "text=Inner button").len(), 1, "control");
    parts[1].refused_frames.insert(frame);
    assert!(find(&parts, "text=Inner button").is_empty(), "a frame that is not shown");
}

#[test]
fn empty_views_say_what_to_do() {
    let empty = [Part::default()];
    let interactive = Options { is_interactive: true, ..Options::default() };
    assert_eq!(show(&empty, &interactive), "(no interactive elements; try snapshot or screenshot)");
    assert_eq!(show(&empty, &Options::default()), "(empty page)");
}

#[test]
fn deep_trees_are_read() {
    let count = 50_000_i64;
    let strings = json!(["DIV", "role", "listitem", "x", "block", "visible"]);
    let indices: Vec<i64> = (0..count).collect();
    let nodes = json!({
        "parentIndex": indices.iter().map(|index| index - 1).collect::<Vec<_>>(),
        "nodeType": vec![1; 50_000],
        "nodeName": vec![0; 50_000],
        "backendNodeId": indices,
        "isClickable": { "index": indices },
    });
    let layout = json!({ "nodeIndex": indices, "bounds": vec![[0, 0, 9, 9]; 50_000], "styles": vec![[4, 5]; 50_000] });
    let capture = json!({ "strings": strings, "documents": [{ "nodes": nodes, "layout": layout }] });
    let part = Part { documents: Document::parse_all(&capture.to_string(), &|_| {}).unwrap(), ..Part::default() };
    let parts = [part];
    let view = View::of(&parts, &Options::default()).unwrap();
    assert!(view.nodes().count() >= 1);
    assert!(find(&parts, "text=x").is_empty());
}

/// Returns a page of a node with many others in it, by the name, the attributes and the parent of each.
fn wide_page(strings: &[String], nodes: &[(i64, Vec<i64>, i64)]) -> [Part; 1] {
    let indices: Vec<usize> = (0..nodes.len()).collect();
    let styles = [strings.len(), strings.len() + 1];
    let texts: Vec<&str> = strings.iter().map(String::as_str).chain(["block", "visible"]).collect();
    let dom = json!({
        "parentIndex": nodes.iter().map(|node| node.2).collect::<Vec<_>>(),
        "nodeType": vec![1; nodes.len()],
        "nodeName": nodes.iter().map(|node| node.0).collect::<Vec<_>>(),
        "backendNodeId": indices,
        "attributes": nodes.iter().map(|node| &node.1).collect::<Vec<_>>(),
    });
    let bounds = vec![[0, 0, 9, 9]; nodes.len()];
    let layout = json!({ "nodeIndex": indices, "bounds": bounds, "styles": vec![styles; nodes.len()] });
    let capture = json!({ "strings": texts, "documents": [{ "nodes": dom, "layout": layout }] });
    let documents = Document::parse_all(&capture.to_string(), &|_| {}).expect("a capture");
    [Part { documents, ..Part::default() }]
}

#[test]
fn attributes_of_a_node_are_not_read_for_each_child() {
    // What reads all of them again for each child does not end in time.
    let mut strings: Vec<String> = ["DIV", "P", "contenteditable", "true"].map(str::to_owned).into();
    strings.extend((0..100_000).map(|number| format!("data-{number}")));
    let attributes: Vec<i64> = (4..100_004).flat_map(|name| [name, 3]).chain([2, 3]).collect();
    let nodes: Vec<_> = std::iter::once((0, attributes, -1)).chain(vec![(1, Vec::new(), 0); 50_000]).collect();
    let parts = wide_page(&strings, &nodes);
    assert!(View::of(&parts, &Options::default()).is_some());
    let page = nodes::Nodes::new(&parts[0].documents[0], &parts[0].accessibility, false);
    assert!(page.facts(50_000).is_in_editable && !page.facts(0).is_in_editable, "control");
}

#[test]
fn options_of_a_list_are_read_once() {
    // What reads all of them again for each field does not end in time.
    let names = ["DATALIST", "OPTION", "INPUT", "id", "l", "list", "value", "BODY"];
    let mut strings: Vec<String> = names.map(str::to_owned).into();
    strings.extend((0..50_000).map(|number| format!("choice {number}")));
    let mut nodes = vec![(7, Vec::new(), -1), (0, vec![3, 4], 0)];
    nodes.extend((8..50_008).map(|value| (1, vec![6, value], 1)));
    nodes.extend(vec![(2, vec![5, 4], 0); 20_000]);
    let parts = wide_page(&strings, &nodes);
    let page = nodes::Nodes::new(&parts[0].documents[0], &parts[0].accessibility, false);
    for (position, node) in parts[0].documents[0].nodes.iter().enumerate().skip(50_002) {
        let mut states = Vec::new();
        page.add_field_states(position, node, false, &mut states);
        let Some((_, Value::Array(options))) = states.last() else { panic!("{states:?}") };
        assert_eq!((options.len(), options[0].as_str()), (41, Some("choice 0")));
        assert_eq!(options[40], "… 49960 more");
    }
}

/// Returns JSON of any shape, with the member names of captures.
fn any_json() -> impl Strategy<Value = Value> {
    let names = "documents|strings|nodes|layout|parentIndex|nodeType|nodeName|backendNodeId|attributes|index|value|bounds|role|name|properties|ignored|backendDOMNodeId";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..6).prop_map(Value::from),
        "button|DIV|INPUT|IFRAME|type|password|[a-z: #\"{}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Returns a capture of the right form with any content.
fn any_capture() -> impl Strategy<Value = Value> {
    let numbers = || prop::collection::vec(-1_i64..12, 0..12);
    let pairs = || prop::collection::vec(prop::collection::vec(-1_i64..12, 0..6), 0..12);
    let strings = "BUTTON|DIV|INPUT|SELECT|OPTION|LABEL|IFRAME|visible|pointer|type|password|value|[^\u{0}]{0,6}";
    let nodes = (numbers(), numbers(), numbers(), pairs(), numbers(), numbers());
    (nodes, prop::collection::vec(strings, 0..12), pairs(), numbers()).prop_map(
        |((parents, kinds, names, attributes, indices, values), strings, bounds, clickable)| {
            let ids: Vec<usize> = (1..=parents.len()).collect();
            let natural = |numbers: &[i64]| numbers.iter().map(|number| number.unsigned_abs()).collect::<Vec<_>>();
            let rare = json!({ "index": natural(&indices), "value": values });
            let document = json!({
                "nodes": {
                    "parentIndex": parents, "nodeType": kinds, "nodeName": names, "backendNodeId": ids,
                    "attributes": attributes, "inputValue": rare, "contentDocumentIndex": rare,
                    "isClickable": { "index": natural(&clickable) },
                },
                "layout": { "nodeIndex": natural(&indices), "bounds": bounds, "styles": attributes, "text": names },
            });
            json!({ "strings": strings, "documents": [document, document] })
        },
    )
}

fn assert_lines_parse(view: &View) {
    let data = view.to_data("http://a/", |key| u32::try_from(key.node).ok());
    let text = data["snapshot"].as_str().unwrap();
    if !text.starts_with('(') {
        for line in text.split('\n') {
            let parsed = Line::parse(line).unwrap_or_else(|| panic!("{line:?}"));
            assert_eq!(parsed.to_string(), line);
        }
    }
}

proptest! {
    #[test]
    fn any_capture_gives_lines_that_parse(dom in prop_oneof![any_json(), any_capture()], tree in any_json()) {
        let documents = Document::parse_all(&dom.to_string(), &|_| {}).unwrap_or_default();
        let mut part = Part { documents, ..Part::default() };
        let _ = part.accessibility.add(&tree.to_string(), &|_| {});
        for is_interactive in [false, true] {
            let options = Options { is_interactive, ..Options::default() };
            assert_lines_parse(&View::of(std::slice::from_ref(&part), &options).unwrap());
        }
    }

    #[test]
    fn lines_parse_back(
        level in 0_usize..9,
        name in any::<String>(),
        value in any::<String>(),
        number in prop::option::of(any::<u32>()),
    ) {
        let states = vec![("value".to_owned(), value.into()), ("checked".to_owned(), Value::Null)];
        let line = Line { level, role: "button".to_owned(), name, reference: number, states };
        let text = line.to_string();
        let has_break = text.contains(['\n', '\r', '\u{2028}']);
        prop_assert!(!has_break);
        prop_assert_eq!(Line::parse(&text), Some(line));
    }
}
