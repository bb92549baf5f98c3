//! Selection of a part of a text by its words.

use serde_json::json;

use super::super::processes::wait_for;
use super::acting::Page;

/// Waits until the page itself says that this is selected.
#[track_caller]
fn is_selected(page: &Page, part: &str) {
    wait_for(&format!("the selection of `{part}`"), || {
        let state = page.ok(&["get", "text", "#state"])["text"].clone();
        (state == format!("[{part}]")).then_some(())
    });
}

/// Selects words, which an element has this often, and which the page calls by this text.
#[track_caller]
fn selects(page: &Page, element: &str, words: &str, count: u32, part: &str) {
    let data = page.ok(&["select-text", element, words]);
    assert_eq!(data, json!({"selected": true, "matches": count}), "{element} {words}");
    is_selected(page, part);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn words_of_a_text_are_selected() {
    Page::each_at("gate/words", |page| {
        selects(page, "#text", "second price", 1, "second price");
        selects(page, "#text", "is 15. The last", 1, "is 15. The last");
        selects(page, "#text", "price", 2, "price");
        selects(page, "#loud", "SAVE", 1, "SAVE");
        selects(page, "#form", "of the guest", 1, "of the guest");
        selects(page, "#card", "the card", 1, "the card");
        for (element, words) in
            [("#text", "third price"), ("#text", "unseen"), ("#form", "Lovelace"), ("body", "Lovelace")]
        {
            page.refused(&["select-text", element, words], "element-not-found", &["does not have these words"]);
        }
        page.refused(&["select-text", "#locked", "for you"], "no-effect", &["does not let a part of the `p`"]);
        page.refused(&["select-text", "#none", "words"], "element-not-found", &["no element matches"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn words_of_a_field_are_replaced_by_what_is_typed() {
    Page::each_at("gate/words", |page| {
        let value = |field: &str| page.ok(&["get", "value", field])["value"].as_str().unwrap().to_owned();
        selects(page, "#field", "Lovelace", 1, "Lovelace");
        page.ok(&["press", "x"]);
        assert_eq!(value("#field"), "Ada x, London");
        selects(page, "#field", "London", 1, "London");
        page.ok(&["type", "#field", "Paris"]);
        assert_eq!(value("#field"), "Ada x, Paris");
        // Control: all of it, without words.
        page.ok(&["select-text", "#field"]);
        page.ok(&["press", "y"]);
        assert_eq!(value("#field"), "y");
        selects(page, "#area", "two three", 1, "two three");
        selects(page, "#area", "two", 2, "two");
        page.ok(&["press", "Delete"]);
        assert_eq!(value("#area"), "one \nthree two");
        selects(page, "#eager", "Ada", 1, "Ada");
        selects(page, "#editor", "on Monday", 1, "on Monday");
        page.ok(&["type", "#editor", "soon"]);
        let text = page.ok(&["get", "text", "#editor"])["text"].as_str().unwrap().to_owned();
        assert!(text.contains("see you soon."), "{text}");
        selects(page, "#editor", "Ada, see", 1, "Ada, see");
        page.refused(&["select-text", "#mail", "ada"], "no-effect", &["leave out the words"]);
    });
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn words_of_a_secret_field_are_refused_whatever_they_are() {
    Page::each_at("gate/words", |page| {
        let refused =
            |words: &str| page.refused(&["select-text", "#secret", words], "secret-observable", &["holds a secret"]);
        assert_eq!(refused("correct"), refused("wrong"));
        // Controls: all of it, and words elsewhere.
        page.ok(&["select-text", "#secret"]);
        selects(page, "#text", "first price", 1, "first price");
        // What was typed there is no other case.
        page.ok(&["fill", "#secret", "typed words"]);
        assert_eq!(refused("typed"), refused("wrong"));
    });
}

/// A piece of a secret that the page has put into another field makes it a secret field, whose parts are not searched either.
// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn words_of_a_field_with_a_piece_of_a_secret_are_refused() {
    Page::each_at("gate/kept", |page| {
        for (button, field, piece) in [("#mirror", "#note", "pw-kep"), ("#edit", "#editor", "kept-")] {
            page.open();
            page.ok(&["click", "#empty"]);
            page.ok(&["fill", field, "typed words"]);
            page.ok(&["select-text", field, "words"]);
            page.open();
            page.ok(&["click", "#empty"]);
            page.ok(&["click", button]);
            let refused =
                |words: &str| page.refused(&["select-text", field, words], "secret-observable", &["holds a secret"]);
            assert_eq!(refused(piece), refused("other"), "{field}");
            page.refused(&["select-text", "body", piece], "element-not-found", &["does not have these words"]);
        }
    });
}

/// An editor that holds a secret is made of elements, each of which an agent can make of a few characters, and read.
// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn elements_of_an_editor_with_a_secret_show_no_part_of_it() {
    Page::each_at("gate/kept", |page| {
        let bold = |first: &[&str]| {
            page.open();
            page.ok(&["click", "#empty"]);
            page.ok(first);
            page.ok(&["click", "#editor"]);
            for key in ["Control+End", "Shift+ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowLeft", "Control+b"] {
                page.ok(&["press", key]);
            }
            let html = page.ok(&["get", "html", "#editor b"])["html"].clone();
            (page.ok(&["get", "text", "#editor b"])["text"].clone(), html)
        };
        assert_eq!(bold(&["click", "#edit"]), (json!("***"), json!("***")));
        assert_eq!(bold(&["fill", "#editor", "note"]), (json!("ote"), json!("ote")), "control");
    });
}
