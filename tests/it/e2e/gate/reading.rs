//! Snapshots of kinds of pages: nothing that a person sees is lost, and nothing that nobody sees is read.

use browser_shell_core::snapshot::Line;

use super::super::processes::wait_for;
use super::acting::Page;
use super::shop;

/// Returns the lines of a view, without the numbers of references.
fn lines(page: &Page, argv: &[&str]) -> Vec<Line> {
    let text = page.call(argv).ok().page();
    text.lines().map(|line| Line::parse(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// Returns a view as text, with a mark in place of each reference.
fn shown(page: &Page, argv: &[&str]) -> String {
    let view = lines(page, argv).into_iter().map(|line| {
        let reference = line.reference.map(|_| 0);
        Line { reference, ..line }.to_string()
    });
    view.collect::<Vec<_>>().join("\n").replace("[ref=e0]", "[ref]")
}

/// Compares both views of a page with their goldens. What they show must be found.
fn check(path: &'static str, name: &str) {
    Page::each_at(path, |page| {
        insta::assert_snapshot!(
            name,
            format!("{}\n\n{}", shown(page, &["snapshot"]), shown(page, &["snapshot", "-i"]))
        );
        for line in lines(page, &["snapshot"]).into_iter().filter(|line| !line.name.is_empty()) {
            let selector = if line.role == "text" {
                format!("text={}", line.name.replace('\n', " "))
            } else {
                format!("role={}[name={}]", line.role, serde_json::Value::from(line.name.as_str()))
            };
            let count = page.ok(&["get", "count", &selector])["count"].as_u64();
            assert_ne!(count, Some(0), "{selector}");
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn row_of_a_thousand_is_found_and_acted_on() {
    Page::each_at("gate/rows", |page| {
        let found = page.call(&["snapshot", "--find", "order 871"]).ok().page();
        assert!(found.len() < 800 && found.contains("Order 871") && !found.contains("Order 872"), "{found}");
        let line = found.lines().find(|line| line.contains("button")).and_then(Line::parse).expect("a button");
        page.ok(&["click", &format!("@e{}", line.reference.expect("a reference"))]);
        assert_eq!(page.ok(&["get", "text", "#state"])["text"], "Order 871");
        let nothing = page.call(&["snapshot", "--find", "Order 1001"]).ok().page();
        assert!(nothing.starts_with("(nothing found"), "{nothing}");
        let buttons = lines(page, &["snapshot", "-i", "--find", "Order 871"]);
        assert_eq!(buttons.iter().map(|line| line.role.as_str()).collect::<Vec<_>>(), ["button"], "{buttons:?}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn long_table_is_shown_from_what_is_in_view_on() {
    Page::each_at("gate/rows", |page| {
        let has = |lines: &[Line], role: &str, text: &str| {
            lines.iter().any(|line| line.role == role && line.name.contains(text))
        };
        for view in [&["snapshot"][..], &["snapshot", "-i"]] {
            page.ok(&["scroll", "--to", "top"]);
            let top = lines(page, view);
            assert!(top.len() < 250 && has(&top, "more", "rows below") && !has(&top, "more", "above"), "{top:?}");
            page.ok(&["scroll", "--to", "bottom"]);
            let bottom = lines(page, view);
            assert!(bottom.len() < 250 && has(&bottom, "more", "rows above"), "{bottom:?}");
            assert!(!has(&bottom, "more", "below"), "{bottom:?}");
        }
        assert!(has(&lines(page, &["snapshot"]), "cell", "Order 1000"));
        page.ok(&["scroll", "--to", "top"]);
        assert!(has(&lines(page, &["snapshot"]), "cell", "Order 1"));
    });
}

/// Returns the names of the lines that have one of these.
fn order(page: &Page, view: &[&str], wanted: &[&str]) -> Vec<String> {
    let names = lines(page, view).into_iter().map(|line| line.name);
    names.filter(|name| wanted.contains(&name.as_str())).collect()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_is_in_front_of_a_page_is_read_first() {
    Page::each_at("gate/reading-modal", |page| {
        let views = [&["snapshot"][..], &["snapshot", "-i"]];
        let texts = ["New order", "Welcome", "Later", "Chat", "Send", "Cookies", "Agree"];
        for view in views {
            let names = order(page, view, &texts);
            assert_eq!(names[..3], ["New order", "Chat", "Send"], "control: nothing is in front: {view:?} {names:?}");
            assert!(names.contains(&"Agree".to_owned()), "a dialog of a frame stays in it: {view:?} {names:?}");
        }
        page.ok(&["click", "#new"]);
        for view in views {
            let names = order(page, view, &texts);
            assert_eq!(names[..5], ["Welcome", "Later", "New order", "Chat", "Send"], "{view:?} {names:?}");
        }
        page.ok(&["click", "#later"]);
        for view in views {
            let names = order(page, view, &["New order", "Edit order", "Remove", "Are you sure", "Yes", "Orders"]);
            assert_eq!(names[..2], ["Are you sure", "Yes"], "{view:?} {names:?}");
        }
        assert_eq!(order(page, views[0], &["Orders", "Are you sure"]), ["Are you sure", "Orders"]);
    });
}

/// Opens a layer of a page, and returns the names of the elements with a reference, and the numbers of those behind it.
fn behind(page: &Page, layer: &str) -> (Vec<String>, Vec<String>) {
    page.ok(&["open", &shop(&format!("gate/reading-masks#{layer}"))]);
    let (more, lines): (Vec<_>, Vec<_>) =
        lines(page, &["snapshot", "-i"]).into_iter().partition(|line| line.role == "more");
    let names = |lines: Vec<Line>| lines.into_iter().map(|line| line.name).collect();
    (names(lines), names(more))
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_behind_a_mask_takes_no_input() {
    Page::each_at("gate/reading-masks", |page| {
        let all = ["Old order", "More", "Nick", "Call us", "Far order"];
        let has = |names: &[String], wanted: &str| names.iter().any(|name| name == wanted);
        let layers =
            [("around", ""), ("beside", "Share"), ("through", "Prompt"), ("inside", "Inside"), ("passed", "List")];
        for (layer, head) in layers {
            let (names, more) = behind(page, layer);
            assert!(has(&names, "Done") && (head.is_empty() || has(&names, head)), "{layer}: {names:?}");
            let is_in_front = |name: &str| layer == "around" && name == "Nick";
            assert!(all.iter().all(|name| has(&names, name) == is_in_front(name)), "{layer}: {names:?}");
            if layer == "around" {
                page.ok(&["fill", "role=textbox[name=Nick]", "Ada"]);
                assert_eq!(page.ok(&["get", "value", "#second-nick"])["value"], "Ada", "not the one behind it");
            }
            assert_eq!(more, ["5 controls take no input now, as behind a dialog"], "{layer}");
            let whole = lines(page, &["snapshot"]);
            let order = whole.iter().find(|line| line.name == "Old order").expect("it is seen");
            assert_eq!((order.role.as_str(), order.reference), ("button", None), "{layer}");
            page.ok(&["click", "role=button[name=Done]"]);
            assert!(has(&behind(page, "").0, "Old order"), "{layer}: it is closed");
        }
        // Nothing is in front of it, nobody sees it, or the pointer passes through.
        for layer in ["", "veil", "glass", "shade"] {
            let (names, more) = behind(page, layer);
            assert!(all.iter().all(|name| has(&names, name)) && more.is_empty(), "{layer}: {names:?} {more:?}");
        }
    });
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_is_not_found_in_a_page() {
    Page::each_at("gate/kept", |page| {
        page.ok(&["click", "#print"]);
        for text in ["pw-kept-7Qx2", "pw-kept-7", "7Qx2", "481516"] {
            let found = page.call(&["snapshot", "--find", text]).ok().page();
            assert!(found.starts_with("(nothing found"), "{text}: {found}");
        }
        let found = page.call(&["snapshot", "--find", "password"]).ok().page();
        assert!(found.contains("Password"), "control: {found}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cells_keep_their_place() {
    check("gate/reading-tables", "tables");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn states_are_shown_in_a_word_each() {
    check("gate/reading-states", "states");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn widgets_are_shown_by_what_people_use_of_them() {
    check("gate/reading-widgets", "widgets");
    Page::each_at("gate/reading-widgets", |page| {
        let seen = page.call(&["snapshot", "-i"]).ok();
        page.ok(&["click", &seen.reference("slider", "Tempo")]);
        assert_eq!(page.ok(&["get", "value", "#tempo"])["value"], "10", "pressed on its thumb");
        page.ok(&["fill", &seen.reference("slider", "Tempo"), "20"]);
        assert_eq!(page.ok(&["get", "value", "#tempo"])["value"], "20");
        for list in ["#port", "#wind"] {
            page.refused(&["select", list, "1"], "element-hidden", &["another control"]);
        }
        page.ok(&["select", &seen.reference("combobox", "Drawn list"), "Seen option"]);
        assert!(shown(page, &["snapshot", "-s", "#inner"]).ends_with("\"In a component\" [ref]"), "in a web component");
        assert_eq!(page.call(&["snapshot", "-s", "#no-such"]).code, 1, "control");
        page.refused(&["click", "text=new"], "element-ambiguous", &["span \"new\"", "span \"NEW\""]);
        page.ok(&["check", "text=Agree to it"]);
        assert_eq!(page.ok(&["is", "checked", "role=checkbox[name=Agree to it]"])["checked"], true);
        page.ok(&["click", &page.call(&["snapshot"]).ok().reference("cell", "12")]);
        assert_eq!(page.ok(&["get", "attr", "#picker", "title"])["value"], "12");
        page.ok(&["check", "#power"]);
        assert_eq!(page.ok(&["get", "attr", "#power", "aria-checked"])["value"], "true");
        assert_eq!(page.ok(&["get", "count", "role=switch[name=Wifi of the boat]"])["count"], 1);
        for (act, state) in [("check", "on"), ("check", "on"), ("uncheck", "off")] {
            page.ok(&[act, "role=switch[name=Wifi of the boat]"]);
            assert_eq!(page.ok(&["get", "text", "#wifi-state"])["text"], state, "{act}");
        }
        page.ok(&["click", "text=Choose all"]);
        assert_eq!(page.ok(&["get", "attr", "#all", "aria-checked"])["value"], "true");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn kinds_of_libraries_are_read_as_a_person_sees_them() {
    check("gate/kinds", "kinds");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn wait_for_a_text_sees_what_a_snapshot_shows() {
    Page::each_at("gate/reading-unseen", |page| {
        for text in ["none 17", "none 2", "none 14"] {
            page.waits_in_vain(&["wait", "--text", text], "element-not-found");
        }
        for text in ["Seen", "faint", "wide page", "below in a box", "comes when scrolled to", "Drawn box"] {
            page.ok(&["wait", "--text", text]);
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_fades_in_is_read_after_the_act_that_began_it() {
    Page::each_at("gate/fades", |page| {
        let has = |text: &str| lines(page, &["snapshot"]).iter().any(|line| line.name.contains(text));
        let texts = ["Berth nine", "Rent it", "Came late", "Component came"];
        assert!(!texts.into_iter().any(has), "control");
        page.ok(&["click", "#open"]);
        for text in texts {
            assert!(has(text), "{text}");
        }
        page.ok(&["click", "#ask"]);
        assert!(has("Sure of it"), "what comes after its mask");
        page.ok(&["click", "#close"]);
        wait_for("what fades out", || (!has("Berth nine")).then_some(()));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn texts_keep_their_order_marks_and_lines() {
    check("gate/reading-texts", "texts");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_nobody_sees_is_not_read() {
    check("gate/reading-unseen", "unseen");
    Page::each_at("gate/reading-unseen", |page| {
        let text = page.call(&["snapshot"]).ok().page();
        assert!(!text.contains("none ") && text.contains("far down"), "{text}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn names_are_not_borrowed() {
    check("gate/reading-names", "names");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn one_thing_to_act_on_has_one_line() {
    check("gate/reading-folded", "folded");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn gap_between_texts_is_read_as_a_blank() {
    Page::each_at("gate/gaps", |page| {
        let seen = lines(page, &["snapshot"]);
        let has = |name: &str| seen.iter().any(|line| line.name == name);
        let apart = ["Widget 3 12.50", "Total EUR", "Mail Drafts Spam", "Cell 7", "שלום עולםטוב"];
        let whole = ["Onewordhere", "Hello", "Wave", "Spaced", "Use Options and Some, then", "incomprehensibilities"];
        let others = ["Long text that is wrapped over two lines Tag", "東京都内のこと", "1. First 9.99"];
        for name in apart.into_iter().chain(whole).chain(others) {
            assert!(has(name), "{name}: {seen:#?}");
        }
        let buttons: Vec<_> = seen.iter().filter(|line| line.role == "button").collect();
        assert!(buttons.len() == 1 && !has("Buy now"), "a name is not repeated: {seen:#?}");
        assert!(!has("Keep me"), "a label is not repeated: {seen:#?}");
        // What is shown is found, as a whole and in parts.
        for text in ["Widget 3 12.50", "3 12.50", "12.50", "Total EUR", "Mail Drafts", "Hello", "Wave", "lines Tag"] {
            let count = page.ok(&["get", "count", &format!("text={text}")])["count"].as_u64();
            assert_ne!(count, Some(0), "{text}");
            let found = page.call(&["snapshot", "--find", text]).ok().page();
            assert!(!found.starts_with("(nothing found"), "{text}: {found}");
            page.ok(&["wait", "--text", text]);
        }
        for text in ["Widget3", "H ello", "On e", "Mail Spam"] {
            assert_eq!(page.ok(&["get", "count", &format!("text={text}")])["count"], 0, "{text}");
        }
        page.waits_in_vain(&["wait", "--text", "H ello"], "element-not-found");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn price_is_never_read_as_another_number() {
    Page::each_at("gate/prices", |page| {
        let seen = lines(page, &["snapshot"]);
        let has = |name: &str| seen.iter().any(|line| line.name == name);
        for name in ["$19 99", "$21 95", "249 50 kr", "1.0845 a rate", "2026 a year", "-120.00", "(1,234.50)"] {
            assert!(has(name), "{name}: {seen:#?}");
        }
        for name in ["Price $49", "Preis 53 €", "Done 25%", "Chapter 1", "Add $7 25"] {
            assert!(has(name), "{name}: {seen:#?}");
        }
        for text in ["$19 99", "19 99"] {
            assert_ne!(page.ok(&["get", "count", &format!("text={text}")])["count"], 0, "{text}");
            page.ok(&["wait", "--text", text]);
        }
        page.waits_in_vain(&["wait", "--text", "20 26 a year"], "element-not-found");
        page.ok(&["click", "role=button[name=\"Add $7 25\"]"]);
        assert_eq!(page.ok(&["get", "title"])["title"], "pressed");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn words_without_blanks_are_read_and_found() {
    Page::each_at("gate/prices", |page| {
        let seen = lines(page, &["snapshot"]);
        for name in ["苹果 香蕉 橙子", "りんご バナナ", "사과 배", "中文粗体文字"] {
            assert!(seen.iter().any(|line| line.name == name), "{name}: {seen:#?}");
        }
        page.ok(&["wait", "--text", "登录"]);
        page.ok(&["click", "text=登录"]);
        assert_eq!(page.ok(&["get", "title"])["title"], "logged in");
        page.waits_in_vain(&["wait", "--text", "录登"], "element-not-found");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn messages_and_pictures_are_told_by_their_words() {
    Page::each_at("gate/prices", |page| {
        let acts = lines(page, &["snapshot", "-i"]);
        let is_told = |text: &str| acts.iter().any(|line| line.name.contains(text));
        assert!(is_told("These credentials do not match"), "{acts:#?}");
        assert!(!is_told("Only today"), "control: no field is near: {acts:#?}");
        let seen = lines(page, &["snapshot"]);
        let has = |role: &str, name: &str| seen.iter().any(|line| line.role == role && line.name == name);
        assert!(has("img", "4 out of 5 stars") && has("status", "Loading"), "{seen:#?}");
        assert!(!seen.iter().any(|line| line.name.contains("none of a text")), "control: no picture: {seen:#?}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn texts_keep_the_lines_that_a_person_sees() {
    Page::each_at("gate/gaps", |page| {
        let seen = lines(page, &["snapshot"]);
        let has = |name: &str| seen.iter().any(|line| line.name == name);
        for name in ["if x:\n    y()", "    return 1", "Dear Ann,\nhello", "a\na2", "def f():\n    return 2"] {
            assert!(has(name), "{name:?}: {seen:#?}");
        }
        assert!(!seen.iter().any(|line| line.name.contains("in\n")), "control: a text without lines: {seen:#?}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn styles_order_what_is_read() {
    Page::each_at("gate/gaps", |page| {
        let seen = lines(page, &["snapshot"]);
        let place = |name: &str| seen.iter().position(|line| line.name == name).unwrap_or_else(|| panic!("{name}"));
        for order in [
            &["oldest", "older", "newest", "left", "right"][..],
            &["navigation", "main part", "side"],
            &["c1", "c2", "c3", "c4"],
            &["begin", "end"],
        ] {
            assert!(order.is_sorted_by_key(|name| place(name)), "{order:?}: {seen:#?}");
        }
    });
}

/// Returns the texts near the elements of some roles in the view of what can be acted on.
fn near(page: &Page, roles: &[&str]) -> Vec<String> {
    let lines = lines(page, &["snapshot", "-i"]).into_iter().filter(|line| roles.contains(&line.role.as_str()));
    let near = lines.map(|line| {
        let near = line.states.into_iter().find(|(key, _)| key == "near");
        near.and_then(|(_, text)| text.as_str().map(str::to_owned)).unwrap_or_default()
    });
    near.collect()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn control_is_near_a_text_of_its_own_part_of_the_page() {
    Page::each_at("gate/near", |page| {
        assert_eq!(near(page, &["button"]), ["Basic", "Pro", "Max"], "cards with a list behind the button");
        assert_eq!(near(page, &["link"]), ["Profile", "Address", "Card"], "a link beside its heading");
    });
    Page::each_at("gate/near-fields", |page| {
        let fields = ["Title", "Category", "Min price", "Notes", "Condition"];
        let others = ["Country:", "City:", "Street", "Region", "Town"];
        assert_eq!(near(page, &["textbox", "combobox"]), [fields, others].concat());
        let answers = ["Good", "Fair", "Poor"];
        assert_eq!(near(page, &["radio"]), [&["Male", "Female"][..], &answers, &answers].concat());
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cells_of_a_table_stand_below_their_heads_in_each_view() {
    Page::each_at("gate/near-table", |page| {
        let boxes = ["Orders Email", "Orders Push", "Shipped Email", "Shipped Push", "News Push"];
        assert_eq!(near(page, &["checkbox"]), boxes, "a cell over two rows");
        let compact = lines(page, &["snapshot", "-c"]);
        let of_role = |role| compact.iter().filter(|line| line.role == role).count();
        assert_eq!((of_role("row"), of_role("columnheader")), (4, 4), "{compact:?}");
        let found = lines(page, &["snapshot", "--find", "Shipped"]);
        let names: Vec<_> = found.iter().map(|line| line.name.as_str()).filter(|name| !name.is_empty()).collect();
        assert_eq!(names, ["Group", "Event", "Email", "Push", "Shipped"], "{found:?}");
        // A long text leaves room for what is behind its field.
        let view = lines(page, &["snapshot", "-i"]);
        let text = |line: &Line| line.states.iter().find(|(key, _)| key == "value")?.1.as_str().map(str::to_owned);
        let value = view.iter().find_map(text).expect("the text of the editor");
        assert!(value.starts_with("Paragraph 1 of") && value.ends_with('…') && value.len() < 600, "{value}");
        assert!(view.iter().any(|line| line.name == "Publish"), "{view:?}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn row_that_is_drawn_in_parts_is_read_as_one() {
    Page::each_at("gate/pinned", |page| {
        let all = lines(page, &["snapshot"]);
        let rows = all.split(|line| line.role == "row").skip(1);
        let cells = |row: &[Line]| row.iter().map(|line| line.name.clone()).collect::<Vec<_>>().join(" ");
        let rows: Vec<_> = rows.map(cells).collect();
        assert_eq!(rows, ["Article Left Price Action", "Tea 7 4.80  Order", "Rice 12 2.40  Order"]);
        let selected =
            all.iter().filter(|line| line.role == "row" && line.states.iter().any(|(key, _)| key == "selected"));
        assert_eq!(selected.count(), 1, "{all:?}");
        let near = lines(page, &["snapshot", "-i"]).into_iter().filter(|line| line.role == "button").map(|line| {
            let near = line.states.into_iter().find(|(key, _)| key == "near");
            near.and_then(|(_, text)| text.as_str().map(str::to_owned)).unwrap_or_default()
        });
        assert_eq!(near.collect::<Vec<_>>(), ["Tea", "Rice"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn parts_that_are_drawn_late_are_counted_and_waited_for() {
    Page::each_at("gate/gaps-late", |page| {
        let more = |view: &[&str]| {
            let more = lines(page, view).into_iter().find(|line| line.role == "more" && line.name.contains("drawn"));
            more.and_then(|line| line.name.split(' ').next()?.parse::<usize>().ok())
        };
        let first = more(&["snapshot"]).expect("a line for what is not read");
        assert!((30..60).contains(&first), "{first}");
        assert_eq!(more(&["snapshot", "-i"]), Some(first));
        page.ok(&["wait", "--text", "Text of post 59 here"]);
        page.waits_in_vain(&["wait", "--text", "Unseen 59"], "element-not-found");
        page.ok(&["scroll", "--to", "bottom"]);
        let is_read = || lines(page, &["snapshot"]).iter().any(|line| line.name.contains("Post 59"));
        wait_for("the last part", || is_read().then_some(()));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn text_on_what_stays_in_the_window_is_read() {
    Page::each_at("gate/reading-held", |page| {
        let view = page.call(&["snapshot"]).ok().page();
        assert!(!view.contains("none "), "{view}");
        for text in [
            "First words",
            "White below",
            "Below button",
            "step one",
            "step two",
            "in a box",
            "end of the box",
            "fixed in the flow",
            "goes on below",
        ] {
            assert!(view.contains(text), "{text}: {view}");
        }
        assert!(!page.call(&["snapshot", "-i"]).ok().page().contains("none "));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn parts_that_appear_when_scrolled_to_are_counted() {
    Page::each_at("gate/reading-held", |page| {
        let more = || lines(page, &["snapshot"]).into_iter().find(|line| line.role == "more");
        let said = "2 parts appear only when scrolled to, and are not read: scroll down to them";
        assert_eq!(more().map(|line| line.name).as_deref(), Some(said));
        assert!(!page.call(&["snapshot"]).ok().page().contains("Pricing"), "control");
        page.ok(&["scroll", "--to", "bottom"]);
        let is_read = || lines(page, &["snapshot"]).iter().any(|line| line.name.contains("Team costs 49 EUR"));
        wait_for("the last part", || is_read().then_some(()));
        assert_eq!(more(), None);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_shapes_cut_off_covers_nothing() {
    Page::each_at("gate/reading-cut", |page| {
        let view = page.call(&["snapshot"]).ok().page();
        assert!(!view.contains("none "), "{view}");
        for text in ["Welcome", "front side", "card one", "card two", "over three"] {
            assert!(view.contains(text), "{text}: {view}");
        }
        let seen = lines(page, &["snapshot", "-i"]);
        for (role, name) in [("button", "Buy"), ("textbox", "Email")] {
            let line = seen.iter().find(|line| line.role == role && line.name == name);
            assert!(line.is_some_and(|line| line.reference.is_some()), "{name}: {seen:?}");
        }
        page.ok(&["click", &page.reference("button", "Buy")]);
        assert!(page.call(&["snapshot"]).ok().page().contains("Bought"));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_is_cut_turned_or_behind_is_read_if_it_is_seen() {
    Page::each_at("gate/reading-sight", |page| {
        let view = || page.call(&["snapshot"]).ok().page();
        // It takes some time to go.
        wait_for("what goes", || (!view().contains("none any more")).then_some(()));
        let view = view();
        assert!(!view.contains("none "), "{view}");
        assert!(!page.call(&["snapshot", "-i"]).ok().page().contains("none "));
        for text in [
            "drawn larger",
            "twice the size",
            "turned slide",
            "second turned slide",
            "high too",
            "slide on its edge",
            "first slide",
            "visible again",
            "in the open menu",
            "upper part",
            "scrolled into view",
            "comes later",
            "row in view",
            "row that opens",
            "what it opens",
            "scrolled by the wheel",
            "Total",
            "7",
            "behind in a layer",
            "behind nothing",
            "outlined without a color",
            "outlined white",
            "white with a shadow",
            "map in a frame",
            "seen through the frame",
            "clear frame",
        ] {
            assert!(view.contains(text), "{text}: {view}");
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn text_in_a_frame_is_on_what_is_around_it() {
    Page::each_at("gate/reading-framed", |page| {
        let is_read = |text: &str| lines(page, &["snapshot"]).iter().any(|line| line.name.contains(text));
        for text in ["outer", "white on the page", "Send", "white on its own", "white in two frames"] {
            wait_for(text, || is_read(text).then_some(()));
        }
        assert!(!is_read("none "));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn dialog_in_front_of_a_mask_is_read_first() {
    Page::each_at("gate/reading-asked", |page| {
        let view = page.call(&["snapshot"]).ok().page();
        let place = |text: &str| view.find(text).unwrap_or_else(|| panic!("{text}: {view}"));
        assert!(place("Are you sure?") < place("Long page"), "{view}");
        assert!(place("Continue") < place("Long page"), "{view}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_whose_style_begins_lines_at_the_right_is_read() {
    Page::each_at("gate/reading-leftward", |page| {
        let seen = lines(page, &["snapshot", "-i"]);
        for name in ["Right", "Far left"] {
            let line = seen.iter().find(|line| line.role == "button" && line.name == name);
            assert!(line.is_some_and(|line| line.reference.is_some()), "{name}: {seen:?}");
        }
        assert!(page.call(&["snapshot"]).ok().page().contains("four"));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn field_below_a_row_of_labels_has_that_of_its_column() {
    Page::each_at("gate/reading-columns", |page| {
        let lines = ["First", "Last", "Role"];
        let grid = ["Street", "Town", "Code", "Mail", "Phone", "Fax"];
        let others = ["Weight", "Height", "Amount"];
        assert_eq!(near(page, &["textbox", "combobox"]), [&lines[..], &lines, &grid, &others].concat());
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn name_is_found_whatever_blanks_its_design_draws() {
    Page::each_at("gate/reading-columns", |page| {
        for (asked, title) in [("登录", "logged in"), ("发 送", "sent")] {
            page.ok(&["click", &format!("role=button[name={asked}]")]);
            assert_eq!(page.ok(&["get", "title"])["title"], title);
            assert_ne!(page.ok(&["get", "count", &format!("text={asked}")])["count"], 0, "{asked}");
        }
        assert_eq!(page.ok(&["get", "count", "role=button[name=录登]"])["count"], 0, "control");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cells_that_no_page_calls_so_keep_their_place() {
    Page::each_at("gate/reading-grids", |page| {
        let all = lines(page, &["snapshot"]);
        let end = all.iter().position(|line| line.name.starts_with("November")).expect("the months");
        let cells = |row: &[Line]| row.iter().map(|line| line.name.clone()).collect::<Vec<_>>().join("|");
        let is_cell = |line: &&Line| matches!(line.role.as_str(), "cell" | "columnheader");
        let rows = all[..end].split(|line| line.role == "row").skip(1);
        let rows: Vec<_> =
            rows.map(|row| cells(&row.iter().take_while(|line| is_cell(line)).cloned().collect::<Vec<_>>())).collect();
        let stock = ["Part|Count|Note", "Bolt|12|", "Nut||rare"];
        let rain = ["City|Rain|Snow", "Bergen|90|", "Tromsoe||70"];
        assert_eq!(rows, [stock, rain].concat(), "{all:?}");
        let grid = all.iter().position(|line| line.name == "Phone").expect("the grid");
        assert_eq!(cells(&all[grid - 2..grid + 7]), "Name|Mail|Phone|Ann||555|Bob|b@x|", "{all:?}");
        assert_eq!(near(page, &["textbox"]), ["Street", "Town"], "a form is laid out in a table");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn day_of_one_of_two_months_is_near_its_month() {
    Page::each_at("gate/reading-grids", |page| {
        let days = lines(page, &["snapshot", "-i"]).into_iter().filter(|line| line.name == "15");
        let near = days.map(|line| {
            let near = line.states.iter().find(|(key, _)| key == "near");
            near.map(|(_, text)| text.as_str().unwrap_or_default().to_owned()).unwrap_or_default()
        });
        let near: Vec<_> = near.collect();
        assert!(near.len() == 2 && near[0].contains("November 2026") && near[1].contains("December 2026"), "{near:?}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn formula_is_read_as_a_person_types_it() {
    Page::each_at("gate/reading-grids", |page| {
        let seen = lines(page, &["snapshot"]);
        let formulas: Vec<_> = seen.iter().filter(|line| line.role == "math").map(|line| line.name.as_str()).collect();
        assert_eq!(formulas, ["πr^2", "x=(-b±√(b^2-4ac))/(2a)"], "{seen:?}");
        assert_eq!(page.ok(&["get", "count", "role=math[name=\"πr^2\"]"])["count"], 1);
        for asked in ["登录", "登 录"] {
            let found = page.call(&["snapshot", "--find", asked]).ok().page();
            assert!(found.contains("button"), "{asked}: {found}");
        }
    });
}
