use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::decision::{Code, Decision};
use crate::grammar::{Profile, parse};
use crate::keyboard::Modifier;
use crate::output::mask::Literals;

fn act(argv: &[&str]) -> Act {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    Act::from_command(&parse(Profile::Tool, &argv, |_| true).expect("accepted")).expect("an act")
}

fn check_before(act: &Act, state: &ElementState) -> Result<(), Decision> {
    super::check_before(act, state, &Literals::default())
}

fn effect(act: &Act, before: &ElementState, after: &ElementState) -> Effect {
    super::effect(act, before, after, &Literals::default())
}

/// Returns the state of a visible field.
fn field(tag: &str, kind: &str, value: &str) -> ElementState {
    ElementState {
        tag: tag.to_owned(),
        kind: kind.to_owned(),
        is_editable: true,
        is_visible: true,
        value: Some(value.to_owned()),
        ..ElementState::default()
    }
}

fn fill(text: &str, before: &ElementState, held: &str) -> Effect {
    effect(&act(&["fill", "@e1", text]), before, &ElementState { value: Some(held.to_owned()), ..before.clone() })
}

fn reason(effect: Effect) -> String {
    match effect {
        Effect::None(decision) => {
            assert_eq!(decision.code, Code::NoEffect);
            decision.reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn references_are_parsed_in_all_forms() {
    for text in ["@e12", "e12", "ref=e12", "[ref=e12]", " @e12 "] {
        assert_eq!(Reference::parse(text), Some(Reference::Number(12)), "{text}");
    }
    for text in ["@x", "@", "@e", "@e-1", "ref=x", "@e99999999999"] {
        assert_eq!(Reference::parse(text), Some(Reference::Unknown), "{text}");
    }
    for text in ["#e12", "em", "e", ".e1", "e1 > a", "text=e1"] {
        assert_eq!(Reference::parse(text), None, "{text}");
    }
}

#[test]
fn commands_are_acts_on_their_elements() {
    let rows: &[(&[&str], Verb)] = &[
        (&["scroll", "@e1"], Verb::ScrollIntoView),
        (&["scroll", "down", "5", "-s", "@e1"], Verb::Scroll),
        (&["scroll", "--to", "bottom", "-s", "@e1"], Verb::ScrollTo(Edge::Bottom)),
        (&["select-text", "@e1"], Verb::SelectText),
        (&["drag", "@e1", "@e2"], Verb::Drag),
        (&["get", "value", "@e1"], Verb::Read(Reading::Value)),
        (&["click", "@e1"], Verb::Click),
    ];
    for (argv, verb) in rows {
        assert_eq!(act(argv).verb, *verb, "{argv:?}");
    }
    assert_eq!(act(&["click", "@e1", "--at", "3,4"]).offset, Some((3, 4)));
    assert_eq!(act(&["click", "@e1"]).offset, None);
    let words = |argv: &[&str]| act(argv).text;
    assert_eq!(words(&["select-text", "@e1", "the words"]), "the words");
    assert_eq!(words(&["select-text", "@e1"]), "");
    let drag = act(&["drag", "#a", "#b", "--to", "3,4", "--from", "1,2"]);
    assert_eq!((drag.offset, drag.destination), (Some((1, 2)), Some((3, 4))));
    let press = |argv: &[&str]| act(argv).press;
    let held = ["click", "@e1", "--button", "right", "--modifiers", "Control+Shift", "--hold", "900", "--at", "3,4"];
    let modifiers = vec![Modifier::Control, Modifier::Shift];
    assert_eq!(press(&held), Press { button: Button::Right, modifiers, hold: Duration::from_millis(900) });
    assert_eq!(press(&["click", "@e1"]), Press::default());
}

#[test]
fn limits_of_a_page_are_short_and_on_one_line() {
    let mut state = field("input", "date", "");
    state.limits = [format!("2011-03-21`\nnow {}", "x".repeat(200)), String::new(), String::new()];
    let reason = reason(fill("2011-03-21", &state, ""));
    assert!(reason.contains("from `2011-03-21now") && !reason.contains('\n') && reason.len() < 200, "{reason}");
}

#[test]
fn text_goes_on_in_the_box_that_takes_the_focus() {
    let before = ElementState { has_focus: true, max_length: Some(1), ..field("input", "text", "") };
    let typed = |held: &str, has_focus| {
        let after = ElementState { has_focus, value: Some(held.to_owned()), ..before.clone() };
        effect(&act(&["type", "@e1", "482913"]), &before, &after)
    };
    assert_eq!(typed("4", false), Effect::Holds("4".to_owned()));
    assert!(matches!(typed("4", true), Effect::None(_)), "control: nothing took the rest");
    assert!(matches!(typed("", false), Effect::None(_)), "control: it took nothing");
}

#[test]
fn values_of_formatted_fields_are_checked() {
    let rows = [
        ("date", "2011-03-21", Some("2011-03-21")),
        ("date", "2012-02-29", Some("2012-02-29")),
        ("date", "2011-02-29", None),
        ("date", "21.03.2011", None),
        ("date", "", Some("")),
        ("time", "14:30", Some("14:30")),
        ("time", "14:30:15.5", Some("14:30:15.5")),
        ("time", "2 pm", None),
        ("time", "24:00", None),
        ("datetime-local", "2011-03-21 14:30", Some("2011-03-21T14:30")),
        ("datetime-local", "2011-03-21", None),
        ("month", "2011-03", Some("2011-03")),
        ("month", "2011-13", None),
        ("week", "2011-W12", Some("2011-W12")),
        ("week", "2011-12", None),
        ("color", "#FF8800", Some("#ff8800")),
        ("color", "red", None),
        ("color", "", None),
        ("range", "7", Some("7")),
        ("range", "seven", None),
    ];
    for (kind, text, expected) in rows {
        let format = FieldFormat::of(&field("input", kind, "")).expect("a format");
        assert_eq!(format.normalize(text).as_deref(), expected, "{kind} {text}");
    }
    assert_eq!(FieldFormat::of(&field("input", "text", "")), None);
    assert_eq!(FieldFormat::of(&field("textarea", "date", "")), None);
}

#[test]
fn hints_match_snapshot() {
    let hint = |kind: &str| {
        let state =
            ElementState { limits: ["0".to_owned(), "10".to_owned(), "5".to_owned()], ..field("input", kind, "") };
        FieldFormat::of(&state).expect("a format").hint(&state)
    };
    let kinds = ["date", "time", "datetime-local", "month", "week", "color", "range"];
    insta::assert_snapshot!(kinds.map(hint).join("\n"));
}

#[test]
fn filled_field_has_an_effect() {
    let text = field("input", "text", "old");
    assert_eq!(fill("new", &text, "new"), Effect::Done);
    assert_eq!(fill("old", &text, "old"), Effect::Done, "it held the text before");
    assert_eq!(fill("", &text, ""), Effect::Done);
    assert_eq!(fill("a\nb", &text, "ab"), Effect::Done, "one line");
    assert_eq!(fill(" a@b ", &field("input", "email", ""), "a@b"), Effect::Done);
    assert_eq!(fill("1.50", &field("input", "number", ""), "1.5"), Effect::Done);
    assert_eq!(fill("a\r\nb", &field("textarea", "", ""), "a\nb"), Effect::Done);
    assert_eq!(fill("0171234", &field("input", "tel", ""), "017 1234"), Effect::Holds("017 1234".to_owned()));
    assert_eq!(fill("14:30:00", &field("input", "time", ""), "14:30"), Effect::Done);
    let editor = ElementState { is_content_editable: true, is_editable: false, ..field("div", "", "") };
    assert_eq!(fill("a b\nc", &editor, "a\u{a0}b\n\nc\n"), Effect::Done);
}

#[test]
fn field_that_did_not_take_the_text_is_a_failure() {
    let text = field("input", "text", "old");
    assert_eq!(reason(fill("new", &text, "old")), "the `input type=text` holds \"old\"");
    let emptied = "the `input type=text` is empty after it; if its page reads keys, `type` enters the text";
    assert_eq!(reason(fill("new", &text, "")), emptied);
    let short = ElementState { max_length: Some(3), ..field("input", "text", "abc") };
    assert_eq!(
        reason(fill("abcdef", &short, "abc")),
        "the `input type=text` holds \"abc\"; it takes at most 3 characters"
    );
    assert!(reason(fill("x", &field("input", "number", ""), "")).contains("wants a number"));
    assert!(reason(fill("21.3.", &field("input", "date", ""), "")).ends_with("such as `2011-03-21`"));
    let range = field("input", "range", "10");
    assert!(reason(fill("99", &range, "10")).contains("holds \"10\""), "it was at its limit");
    let password = ElementState { is_secret: true, ..field("input", "password", "hunter2") };
    assert_eq!(reason(fill("other", &password, "hunter2")), "the `input type=password` did not take the text");
    assert_eq!(fill("other", &password, "x-hunter2"), Effect::Holds(String::new()));
}

#[test]
fn text_that_a_field_limits_is_entered_with_a_doubt() {
    let doubt = |effect| match effect {
        Effect::Unclear(doubt) => doubt,
        other => panic!("{other:?}"),
    };
    let limits = ["0", "10", "2"].map(str::to_owned);
    let range = ElementState { limits, ..field("input", "range", "0") };
    let holds = "the field holds \"6\"; a range wants a number from `0` to `10` in steps of `2`";
    assert_eq!(doubt(fill("5", &range, "6")), holds);
    assert!(reason(fill("5", &range, "0")).contains("holds \"0\""), "control: it is as before");
    assert!(
        reason(fill("21.3.", &field("input", "date", "2011-03-21"), "")).contains("is empty"),
        "control: discarded"
    );
    let short = ElementState { max_length: Some(3), ..field("input", "text", "ab") };
    let holds = "the field holds \"abc\"; it takes at most 3 characters";
    assert_eq!(doubt(fill("abcdef", &short, "abc")), holds);
    let secret = ElementState { max_length: Some(3), is_secret: true, ..field("input", "password", "") };
    assert_eq!(doubt(fill("xyz9", &secret, "xyz")), "the field does not hold all of it; it takes at most 3 characters");
}

#[test]
fn typed_text_follows_what_was_there() {
    let typed = |text: &str, before: &str, held: &str| {
        let state = field("input", "text", before);
        effect(&act(&["type", "@e1", text]), &state, &field("input", "text", held))
    };
    assert_eq!(typed("b", "a", "ab"), Effect::Done);
    assert_eq!(typed("b", "a", "ba"), Effect::Done, "the cursor was at the begin");
    assert_eq!(typed("b\n", "a", ""), Effect::Done, "the page has sent it off");
    assert_eq!(typed("b", "a", "a-b?"), Effect::Done);
    assert_eq!(typed("b", "a", "c"), Effect::Holds("c".to_owned()));
    assert!(reason(typed("b", "a", "a")).contains("holds \"a\""));
}

#[test]
fn boxes_and_options_have_to_change() {
    let state = |is_checked| ElementState { is_checked: Some(is_checked), ..field("input", "checkbox", "on") };
    let check = act(&["check", "@e1"]);
    assert_eq!(effect(&check, &state(false), &state(true)), Effect::Done);
    assert_eq!(reason(effect(&check, &state(false), &state(false))), "the `input type=checkbox` is still not checked");
    let option = |value: &str, label: &str, is_selected| OptionState {
        value: value.to_owned(),
        label: label.to_owned(),
        is_selected,
        ..OptionState::default()
    };
    let select = |first, second| ElementState {
        options: vec![option("s", "Small size", first), option("l", "Large", second)],
        ..field("select", "", "s")
    };
    let choose = act(&["select", "@e1", "Large"]);
    assert_eq!(check_before(&choose, &select(true, false)), Ok(()));
    assert_eq!(effect(&choose, &select(true, false), &select(false, true)), Effect::Done);
    assert_eq!(
        reason(effect(&choose, &select(true, false), &select(true, false))),
        "the select box has chosen \"Small size\""
    );
    let refusal = check_before(&act(&["select", "@e1", "Huge"]), &select(true, false)).expect_err("refused");
    assert_eq!(refusal.reason, "the select box has the options \"Small size\", \"Large\"");
    let focus = act(&["focus", "@e1"]);
    assert_eq!(reason(effect(&focus, &state(true), &state(true))), "the `input type=checkbox` does not take the focus");
}

#[test]
fn elements_that_cannot_take_an_act_are_refused() {
    let code =
        |argv: &[&str], state: &ElementState| check_before(&act(argv), state).err().map(|decision| decision.code);
    let text = field("input", "text", "");
    let disabled = ElementState { is_disabled: true, ..text.clone() };
    let read_only = ElementState { is_read_only: true, ..text.clone() };
    let hidden = ElementState { is_visible: false, ..text.clone() };
    let undisplayed = ElementState { is_undisplayed: true, ..hidden.clone() };
    let plain = ElementState { tag: "div".to_owned(), is_visible: true, ..ElementState::default() };
    let labeled =
        ElementState { is_checked: Some(false), has_visible_label: true, is_visible: false, ..ElementState::default() };
    for (argv, state, expected) in [
        (&["click", "@e1"][..], &text, None),
        (&["click", "@e1"], &disabled, Some(Code::ElementDisabled)),
        (&["hover", "@e1"], &disabled, None),
        (&["get", "text", "@e1"], &disabled, None),
        (&["fill", "@e1", "x"], &text, None),
        (&["fill", "@e1", "x"], &read_only, Some(Code::ElementReadOnly)),
        (&["type", "@e1", "x"], &read_only, Some(Code::ElementReadOnly)),
        (&["click", "@e1"], &read_only, None),
        (&["fill", "@e1", "x"], &plain, Some(Code::ElementReadOnly)),
        (&["type", "@e1", "x"], &plain, None),
        (&["fill", "@e1", "x"], &undisplayed, Some(Code::ElementHidden)),
        (&["type", "@e1", "x"], &undisplayed, Some(Code::ElementHidden)),
        (&["get", "text", "@e1"], &undisplayed, None),
        (&["click", "@e1"], &hidden, Some(Code::ElementHidden)),
        (&["get", "text", "@e1"], &hidden, None),
        (&["select-text", "@e1"], &text, None),
        (&["select-text", "@e1"], &hidden, Some(Code::ElementHidden)),
        (&["check", "@e1"], &plain, Some(Code::NoEffect)),
        (&["check", "@e1"], &labeled, None),
        (&["select", "@e1", "x"], &plain, Some(Code::OptionUnknown)),
    ] {
        assert_eq!(code(argv, state), expected, "{argv:?} {state:?}");
    }
}

#[test]
fn refusals_name_other_elements() {
    let state = field("input", "text", "");
    let reply = NamedElement { role: "button".to_owned(), name: "Reply\n\"now\"".to_owned(), number: Some(5) };
    let plain = NamedElement { role: "div".to_owned(), ..NamedElement::default() };
    let lines = [
        covered(&state, &reply).to_string(),
        covered(&state, &plain).to_string(),
        covered(&state, &NamedElement { role: "html".to_owned(), ..NamedElement::default() }).to_string(),
        ambiguous(7, &[reply.clone(), plain]).to_string(),
        stale(7, false).to_string(),
        stale(7, true).to_string(),
    ];
    insta::assert_snapshot!(lines.join("\n"));
    let long = NamedElement { name: "x".repeat(500), ..reply };
    assert!(long.to_string().len() < 120);
}

proptest! {
    /// No text is done and without effect at once, and what is refused never becomes longer than its limits.
    #[test]
    fn reasons_are_short_whatever_a_page_holds(text in "\\PC{0,300}", held in "\\PC{0,3000}") {
        match fill(&text, &field("input", "text", "old"), &held) {
            Effect::None(decision) => prop_assert!(decision.reason.chars().count() < 1000),
            Effect::Holds(value) => prop_assert_eq!(value, held),
            Effect::Done => {}
            Effect::Unclear(doubt) => prop_assert!(false, "{}", doubt),
        }
    }

    /// A normalized value stays what it is.
    #[test]
    fn normalizing_twice_changes_nothing(text in "[0-9T :.W#a-f-]{0,20}") {
        for kind in ["date", "time", "datetime-local", "month", "week", "color", "range"] {
            let format = FieldFormat::of(&field("input", kind, "")).expect("a format");
            if let Some(value) = format.normalize(&text) {
                prop_assert_eq!(format.normalize(&value), Some(value.clone()));
                prop_assert!(format.is_same(&value, &value) || value.is_empty());
            }
        }
    }
}

#[test]
fn text_that_the_page_took_is_no_failure() {
    let typed = |before: &ElementState, held: &str, taken: Taken, has_focus: bool| {
        let after = ElementState { value: Some(held.to_owned()), taken, has_focus, ..before.clone() };
        effect(&act(&["type", "@e1", "abc"]), before, &after)
    };
    let (empty, nothing) = (field("textarea", "", ""), Taken::default());
    let told = Taken { is_told: true, ..nothing };
    // Control: nothing happened, or the page undid the text.
    for taken in [nothing, told] {
        assert_eq!(reason(typed(&empty, "", taken, true)), "the `textarea` is empty after it");
    }
    let unclear = |effect| match effect {
        Effect::Unclear(doubt) => doubt,
        other => panic!("{other:?}"),
    };
    let sent = Taken { has_changed_page: true, ..told };
    assert_eq!(unclear(typed(&empty, "", sent, true)), "the field is empty after it, the page changed");
    let kept = Taken { is_kept: true, ..nothing };
    let grid = field("input", "text", "A1");
    assert_eq!(unclear(typed(&grid, "A1", kept, true)), "the field holds \"A1\", the page handled the keys by itself");
    assert!(unclear(typed(&grid, "A1", told, false)).contains("another element"));
    // What a secret field holds is not said.
    let secret = ElementState { is_secret: true, ..field("input", "password", "hunter2") };
    assert!(!unclear(typed(&secret, "hunter2", kept, true)).contains("hunter2"));
    // An editor empties the field that it hides.
    let helper = ElementState { is_helper: true, ..empty };
    assert_eq!(typed(&helper, "", kept, true), Effect::Done);
    let after = |taken| ElementState { taken, ..helper.clone() };
    assert_eq!(effect(&act(&["fill", "@e1", "abc"]), &helper, &after(kept)), Effect::Done);
    assert!(unclear(effect(&act(&["fill", "@e1", "abc"]), &helper, &after(sent))).contains("may have added"));
}

#[test]
fn box_that_its_page_changed_is_no_failure() {
    let look = |look: &str| ElementState { is_checked: Some(false), look: look.to_owned(), ..field("div", "", "") };
    let check = |after: &ElementState| effect(&act(&["check", "@e1"]), &look("<div>"), after);
    assert!(reason(check(&look("<div>"))).contains("still not checked"), "control");
    assert!(matches!(check(&look("<div class=on>")), Effect::Unclear(doubt) if doubt.contains("not checked")));
}

#[test]
fn options_are_named_without_their_pictures() {
    let option = |label: &str, text: &str| OptionState {
        value: label.len().to_string(),
        label: label.to_owned(),
        text: text.to_owned(),
        ..OptionState::default()
    };
    let options = vec![option("🐕 Dog", "🐕 Dog"), option("C++", "C++"), option("d", "Drawn"), option("→ Next ←", "")];
    let state = ElementState { options, ..field("select", "", "") };
    for name in ["Dog", "🐕 Dog", "C++", "Drawn", "Next"] {
        assert!(state.option(name).is_some(), "{name}");
    }
    for name in ["C", "dog", "Do", ""] {
        assert_eq!(state.option(name), None, "{name}");
    }
}

#[test]
fn form_that_was_not_sent_is_refused_with_its_fields() {
    let field = NamedElement { role: "textbox".to_owned(), name: "Mail".to_owned(), number: Some(3) };
    let decision = not_sent(&[field], &["Please\nfill".to_owned()], &Literals::default());
    assert_eq!(decision.code, Code::NoEffect);
    assert_eq!(decision.reason, "not sent: the browser refuses the form: textbox \"Mail\" [ref=e3]: \"Please fill\"");
}

#[test]
fn refusal_of_what_its_page_has_made_inert_says_so() {
    let behind = ElementState { is_inert: true, is_disabled: true, ..field("input", "text", "") };
    for argv in [&["fill", "@e1", "a"][..], &["click", "@e1"], &["type", "@e1", "a"]] {
        let refusal = check_before(&act(argv), &behind).expect_err("out of use");
        assert_eq!(refusal.code, Code::ElementDisabled, "{argv:?}");
        assert!(refusal.reason.contains("behind a dialog"), "{refusal:?}");
    }
    let disabled = ElementState { is_inert: false, ..behind };
    let refusal = check_before(&act(&["fill", "@e1", "a"]), &disabled).expect_err("control");
    assert!(!refusal.reason.contains("dialog"), "{refusal:?}");
}

#[test]
fn select_box_that_nobody_sees_is_refused() {
    let option = OptionState { value: "a".to_owned(), ..OptionState::default() };
    let shown = ElementState { options: vec![option], ..field("select", "", "") };
    let select = act(&["select", "@e1", "a"]);
    assert_eq!(check_before(&select, &shown), Ok(()), "control");
    let hidden = ElementState { is_unseen: true, ..shown };
    assert_eq!(check_before(&select, &hidden).map_err(|decision| decision.code), Err(Code::ElementHidden));
}

// Requirement 6.3.
#[test]
fn secrets_are_masked_before_a_refusal_cuts_texts() {
    // The cut is in the secret, behind a word of it.
    let long = format!("{} correct horse {}", "x".repeat(70), "y".repeat(20));
    let secrets = Literals::new(["correct horse".to_owned()]);
    let option = |label: &str| OptionState { label: label.to_owned(), is_selected: true, ..OptionState::default() };
    let select = ElementState { options: vec![option(&long)], ..field("select", "", "") };
    let named = || NamedElement { role: "textbox".to_owned(), name: long.clone(), number: None };
    let reasons = |secrets: &Literals| {
        let (choose, fill) = (act(&["select", "@e1", "other"]), act(&["fill", "@e1", "other"]));
        let holds =
            |is_kept| ElementState { taken: Taken { is_kept, ..Taken::default() }, ..field("input", "", &long) };
        let unclear = match super::effect(&fill, &holds(true), &holds(true), secrets) {
            Effect::Unclear(doubt) => doubt,
            other => panic!("{other:?}"),
        };
        [
            super::check_before(&choose, &select, secrets).expect_err("unknown").reason,
            reason(super::effect(
                &choose,
                &select,
                &ElementState { options: vec![option(&long), option("b")], ..select.clone() },
                secrets,
            )),
            reason(super::effect(&fill, &holds(false), &holds(false), secrets)),
            unclear,
            covered(&select, &named().masked(secrets)).reason,
            not_sent(&[NamedElement::default()], std::slice::from_ref(&long), secrets).reason,
        ]
    };
    for reason in reasons(&secrets) {
        assert!(!reason.contains("correct") && reason.contains("***"), "{reason}");
    }
    assert!(reasons(&Literals::default()).iter().all(|reason| reason.contains("correct...")), "control");
}

const REJECTED: DragEvents = DragEvents {
    is_draggable: true,
    is_reached: true,
    is_pressed: true,
    is_begun: true,
    is_prevented: false,
    is_released: false,
    is_ended: true,
    is_rejected: true,
    is_dropped: false,
    is_unclear: false,
};

#[track_caller]
fn drag_reason(events: DragEvents) -> String {
    let Some(DragEnd::Failed(decision)) = events.end() else { panic!("no failure: {events:?}") };
    assert_eq!(decision.code, Code::NoEffect);
    decision.reason
}

#[track_caller]
fn is_doubted(events: DragEvents) {
    assert!(matches!(events.end(), Some(DragEnd::Unclear(doubt)) if doubt.contains("no change")), "{events:?}");
}

#[test]
fn drag_that_nothing_accepts_is_a_failure() {
    assert!(drag_reason(REJECTED).contains("accepts"));
    for done in [
        DragEvents { is_dropped: true, ..REJECTED },
        DragEvents { is_unclear: true, ..REJECTED },
        DragEvents { is_rejected: false, ..REJECTED },
    ] {
        assert_eq!(done.end(), None, "{done:?}");
    }
    is_doubted(DragEvents { is_prevented: true, ..REJECTED });
}

#[test]
fn drag_of_the_browser_is_expected_until_it_begins() {
    let pressed = DragEvents { is_begun: false, is_ended: false, is_rejected: false, ..REJECTED };
    assert!(pressed.is_expected());
    for other in [
        DragEvents { is_draggable: false, ..pressed },
        DragEvents { is_pressed: false, ..pressed },
        DragEvents { is_begun: true, ..pressed },
        DragEvents { is_released: true, ..pressed },
    ] {
        assert!(!other.is_expected(), "{other:?}");
    }
}

#[test]
fn draggable_element_that_is_not_dragged_is_a_failure() {
    let idle = DragEvents { is_begun: false, is_rejected: false, is_released: true, ..REJECTED };
    assert!(drag_reason(idle).contains("did not begin"));
    for by_pointer in [
        DragEvents { is_pressed: false, ..idle },
        DragEvents { is_released: false, ..idle },
        // A page that drags by itself.
        DragEvents { is_draggable: false, ..idle },
    ] {
        is_doubted(by_pointer);
        assert_eq!(DragEvents { is_unclear: true, ..by_pointer }.end(), None, "{by_pointer:?}");
    }
    assert_eq!(DragEvents { is_unclear: true, ..idle }.end(), None);
    assert!(drag_reason(DragEvents { is_reached: false, is_pressed: false, ..idle }).contains("did not get the press"));
}

#[test]
fn refused_text_names_the_field_that_a_press_may_show() {
    let reason =
        |state: &ElementState| check_before(&act(&["fill", "@e1", "x"]), state).expect_err("it takes no text").reason;
    let plain = |tag: &str| ElementState { tag: tag.to_owned(), ..ElementState::default() };
    assert!(reason(&plain("div")).ends_with("; click it, take a snapshot, and use the field that it shows"));
    let slider = ElementState { is_stepped: true, ..plain("div") };
    assert!(!reason(&slider).contains("click it") && reason(&slider).contains("ArrowRight"), "control");
    assert_eq!(reason(&plain("h1")), "a `h1` takes no text", "control");
}

#[test]
fn option_that_a_field_suggests_is_entered() {
    let option = |value: &str, label: &str| OptionState {
        value: value.to_owned(),
        label: label.to_owned(),
        ..OptionState::default()
    };
    let options = vec![option("DE", "Germany"), option("FR", "France"), option("Paris", "Paris")];
    let country = |value: &str| ElementState { options: options.clone(), ..field("input", "text", value) };
    for (name, value) in [("Germany", "DE"), ("FR", "FR"), ("Paris", "Paris")] {
        let choose = act(&["select", "@e1", name]);
        assert_eq!(check_before(&choose, &country("")), Ok(()), "{name}");
        assert_eq!(choose.as_entry(&country("")).map(|entry| entry.text).as_deref(), Some(value));
        assert_eq!(effect(&choose, &country(""), &country(value)), Effect::Done, "{name}");
        assert!(reason(effect(&choose, &country("old"), &country("old"))).contains("holds \"old\""), "{name}");
        assert_eq!(choose.as_entry(&field("input", "text", "")), None, "control: it suggests nothing");
    }
    let refusal = |argv: &[&str], state: &ElementState| check_before(&act(argv), state).expect_err("refused");
    let unknown = refusal(&["select", "@e1", "Spain"], &country(""));
    let listed =
        "the `input type=text` suggests the options \"Germany\", \"France\", \"Paris\"; `fill` enters any text";
    assert_eq!((unknown.code, unknown.reason.as_str()), (Code::OptionUnknown, listed));
    assert_eq!(refusal(&["select", "@e1", "Paris", "France"], &country("")).code, Code::OptionUnknown);
    let locked = ElementState { is_read_only: true, ..country("") };
    assert_eq!(refusal(&["select", "@e1", "Paris"], &locked).code, Code::ElementReadOnly);
    // A snapshot shows the labels.
    for (text, is_label) in [("Germany", true), ("DE", false), ("Paris", false), ("Spain", false)] {
        let filled = effect(&act(&["fill", "@e1", text]), &country(""), &country(text));
        assert_eq!(matches!(&filled, Effect::Unclear(doubt) if doubt.contains("\"DE\"")), is_label, "{filled:?}");
    }
}
