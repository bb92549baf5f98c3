//! Acts by agent-browser alone, with the default engine: "done" only if the element is as it should be.

use serde_json::json;

use super::acting::Page;

fn each(test: impl Fn(&Page)) {
    Page::each_with("agent-browser", "gate/read-back", test);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn discarded_value_of_format_field_fails_by_default() {
    each(|page| {
        for (field, value, hint) in [
            ("#date", "2011-03-21", "`2011-03-21`"),
            ("#time", "14:30", "`14:30`"),
            ("#moment", "2011-03-21T14:30", "`2011-03-21T14:30`"),
            ("#month", "2011-03", "`2011-03`"),
            ("#week", "2011-W12", "`2011-W12`"),
            ("#color", "#ff8800", "`#ff8800`"),
            ("#range", "10", "from `0` to `10` in steps of `5`"),
        ] {
            if page.is_native() {
                page.refused(&["fill", field, value], "no-effect", &[hint]);
            } else {
                assert_eq!(page.ok(&["fill", field, value]), json!({"filled": true}), "{field}");
            }
        }
        page.open();
        page.refused(&["fill", "#date", "21.3.2011"], "no-effect", &["`input type=date` is empty", "2011-03-21"]);
        if page.is_native() {
            // It gives references to the parts of the field.
            let month = page.reference("spinbutton", "Month Month");
            page.refused(&["fill", &month, "2011-03-21"], "no-effect", &["part of a date or time field is empty"]);
            assert_eq!(page.ok(&["type", &month, "03212011"]), json!({"typed": true}));
            assert_eq!(page.ok(&["get", "value", "#date"])["value"], "2011-03-21");
        } else {
            let date = page.reference("textbox", "Date");
            assert_eq!(page.ok(&["fill", &date, "2011-03-21"]), json!({"filled": true}));
        }
        // Controls.
        assert_eq!(page.ok(&["fill", "#number", "12.5"]), json!({"filled": true}));
        let name = page.reference("textbox", "Name");
        assert_eq!(page.ok(&["fill", &name, "Ada"]), json!({"filled": true}));
        assert_eq!(page.ok(&["fill", "xpath=//*[@id='name']", "Ada"]), json!({"filled": true}));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn field_that_did_not_take_text_fails_by_default() {
    each(|page| {
        page.refused(&["fill", "#short", "abcdef"], "no-effect", &["holds \"abc\"", "at most 3 characters"]);
        page.refused(&["type", "#locked", "x"], "no-effect", &["holds \"locked\"", "read-only"]);
        if page.is_native() {
            page.refused(&["fill", "#locked", "x"], "no-effect", &["read-only"]);
            page.refused(&["fill", "#off", "x"], "no-effect", &["disabled"]);
            page.refused(&["fill", "#size", "l"], "no-effect", &["`select` is empty"]);
            page.refused(&["fill", "#editor", "new"], "no-effect", &["holds \"newold\"", "`Control+a`"]);
            page.ok(&["press", "Control+a"]);
            assert_eq!(page.ok(&["type", "#editor", "new"]), json!({"typed": true}));
            assert_eq!(page.ok(&["get", "text", "#editor"])["text"], "new");
        } else {
            assert_eq!(page.ok(&["fill", "#editor", "new"]), json!({"filled": true}));
        }
        let secret = page.call(&["fill", "#secret", "other"]);
        assert!(!format!("{secret:?}").contains("kept-9Kx2"), "{secret:?}");
        // Controls: all of the text, a text that the page changes, or shows a moment later, and fields that are not the element.
        assert_eq!(page.ok(&["fill", "#short", "abc"]), json!({"filled": true}));
        assert_eq!(page.ok(&["fill", "#text", "one\ntwo"]), json!({"filled": true}));
        assert_eq!(page.ok(&["type", "#text", " three"]), json!({"typed": true}));
        assert_eq!(page.ok(&["fill", "#phone", "0171234"]), json!({"filled": true, "holds": "017 1234"}));
        assert_eq!(page.ok(&["fill", "#empty-editor", "new text"]), json!({"filled": true}));
        assert_eq!(page.ok(&["fill", "#label", "in it"]), json!({"filled": true}));
        assert_eq!(page.ok(&["get", "value", "#inner"])["value"], "in it");
        assert_eq!(page.ok(&["fill", "#brief", "x"]), json!({"filled": true}));
        page.ok(&["fill", "#late", "late"]);
        // Nothing else has the focus.
        page.open();
        page.refused(&["focus", "h1"], "no-effect", &["does not take the focus"]);
        assert_eq!(page.ok(&["focus", "#name"]), json!({"focused": true}));
        assert!(!page.audit().contains("attr"), "questions are no calls");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn boxes_and_options_are_read_back_by_default() {
    each(|page| {
        if page.is_native() {
            page.refused(&["check", "#stuck"], "no-effect", &["`input type=checkbox` is still not checked"]);
            page.refused(&["check", "#dead"], "no-effect", &["still not checked"]);
        }
        page.refused(&["select", "#fixed", "l"], "no-effect", &["has chosen \"Small\""]);
        page.refused(&["select", "#fixed", "Large"], "no-effect", &["has chosen \"Small\""]);
        // Controls.
        let checkbox = page.reference("checkbox", "Box");
        assert_eq!(page.ok(&["check", &checkbox]), json!({"checked": true}));
        assert_eq!(page.ok(&["uncheck", "#box"]), json!({"unchecked": true}));
        assert_eq!(page.ok(&["check", "#switch"]), json!({"checked": true}));
        assert_eq!(page.ok(&["uncheck", "#dead"]), json!({"unchecked": true}));
        page.ok(&["select", "#size", "l"]);
        page.ok(&["select", "#size", "Small"]);
        page.ok(&["select", "#size", "Large & wide"]);
        page.ok(&["select", "#several", "a", "c"]);
        page.ok(&["select", "#several", "B"]);
        if page.is_native() {
            // The page that comes has the same box, which nobody has checked.
            page.ok(&["check", "#filter"]);
        }
    });
}
