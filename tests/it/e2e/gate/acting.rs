//! Acts on references and CSS selectors that the gate resolves: every kind of element, and "done" only if it is.

use std::path::PathBuf;

use serde_json::Value;

use super::{
    super::{
        hosts::NEWS,
        processes::wait_for,
        server::{CallReply, Server},
    },
    browser::GateBrowser,
    env, own_policy, shop, test_env,
};

/// Returns the reference that a message names at this position, from 0.
#[track_caller]
pub(super) fn reference_in(message: &str, position: usize) -> String {
    let reference = message.split("[ref=").nth(position + 1).and_then(|rest| rest.split(']').next());
    format!("@{}", reference.expect("a reference"))
}

/// Server of a session that has a page of these tests open.
pub(super) struct Page {
    pub(super) server: Server,
    path: &'static str,
    pub(super) browser: GateBrowser,
}

impl Page {
    /// Opens the page about acts, and runs a test on it.
    fn each(test: impl Fn(&Self)) {
        Self::each_at("gate/acting", test);
    }

    /// Opens a page with our own engine, on a machine without agent-browser, and runs a test on it.
    pub(super) fn each_at(path: &'static str, test: impl Fn(&Self)) {
        let browser = GateBrowser::start();
        let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
        let page = Self { server, path, browser };
        page.open();
        test(&page);
    }

    pub(super) fn open(&self) {
        let away = format!("http://{NEWS}/gate/acting-frame");
        self.server.call_within(60, "s", &["open", &shop(&format!("{}?{away}", self.path))]).ok();
        // With the frames.
        self.server.call_within(60, "s", &["wait", "--load", "load"]).ok();
    }

    #[track_caller]
    pub(super) fn call(&self, argv: &[&str]) -> CallReply {
        self.server.call("s", argv)
    }

    /// Calls with this timeout, in seconds.
    #[track_caller]
    pub(super) fn call_within(&self, seconds: u32, argv: &[&str]) -> CallReply {
        self.server.call_within(seconds, "s", argv)
    }

    /// Calls and fails unless it succeeds.
    #[track_caller]
    pub(super) fn ok(&self, argv: &[&str]) -> Value {
        let reply = self.call(argv);
        assert_eq!(reply.code, 0, "{argv:?}: {reply:?}");
        reply.data()
    }

    /// Calls and fails unless it is refused with this code and a message with these texts.
    #[track_caller]
    pub(super) fn refused(&self, argv: &[&str], code: &str, texts: &[&str]) -> String {
        let reply = self.call(argv);
        let is_refused = reply.code == 1 && reply.stderr.starts_with(&format!("{code}: "));
        assert!(is_refused, "{argv:?}: expected {code}: {reply:?}");
        for text in texts {
            assert!(reply.stderr.contains(text), "{argv:?}: no `{text}`: {reply:?}");
        }
        reply.stderr
    }

    /// Fails unless a wait of two seconds is in vain and has this code. The session must go on.
    #[track_caller]
    pub(super) fn waits_in_vain(&self, argv: &[&str], code: &str) {
        let reply = self.server.call_within(2, "s", argv);
        let is_clear =
            reply.code == 1 && reply.stderr.starts_with(&format!("{code}: ")) && reply.stderr.contains("within 2 s");
        assert!(is_clear, "{argv:?}: expected {code}: {reply:?}");
    }

    /// Returns the reference of an element.
    #[track_caller]
    pub(super) fn reference(&self, role: &str, name: &str) -> String {
        self.call(&["snapshot"]).ok().reference(role, name)
    }

    /// Returns the folder of the session's files.
    pub(super) fn files(&self) -> PathBuf {
        self.server.env().workspace().join("s")
    }

    /// Waits until an element is where it should be and moves no more.
    #[track_caller]
    pub(super) fn wait_for_rest(&self, selector: &str, is_there: impl Fn(&Value) -> bool) {
        let sides = || self.ok(&["get", "box", selector])["box"].clone();
        wait_for(&format!("the rest of {selector}"), || {
            let now = sides();
            (is_there(&now) && sides() == now).then_some(())
        });
    }

    #[track_caller]
    fn log(&self) -> String {
        self.ok(&["get", "text", "#log"])["text"].as_str().unwrap().to_owned()
    }

    /// Waits until the page shows a text.
    #[track_caller]
    pub(super) fn assert_log(&self, text: &str) {
        wait_for(&format!("`{text}` on the page"), || (self.log() == text).then_some(()));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn references_of_all_places_are_clicked() {
    Page::each(|page| {
        for (role, name, log) in [
            ("button", "Plain", "plain clicked"),
            ("button", "a: b #c \"d\" {e}", "odd clicked"),
            ("button", "+", "plus clicked"),
            // Two controls in one parent.
            ("clickable", "Reply", "reply clicked"),
            ("clickable", "Forward", "forward clicked"),
            ("button", "Button open", "open clicked"),
            ("button", "Button closed", "closed clicked"),
            ("button", "Inside shop.example.com", "shop.example.com clicked"),
            ("button", "Inside news.example.net", "news.example.net clicked"),
            ("button", "Far", "far clicked"),
            ("button", "Moving", "moving clicked"),
        ] {
            page.ok(&["click", &page.reference(role, name)]);
            page.assert_log(log);
        }
        page.ok(&["click", &page.reference("button", "Fade")]);
        page.ok(&["click", &page.reference("button", "Faded")]);
        page.assert_log("faded clicked");
        page.ok(&["dblclick", &page.reference("button", "Plain")]);
        page.assert_log("plain doubled");
        page.ok(&["hover", "#over"]);
        page.assert_log("over hovered");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn elements_are_dragged_as_by_a_hand() {
    Page::each(|page| {
        page.server.call_within(60, "s", &["open", &shop("gate/dragging")]).ok();
        let seen = page.call(&["snapshot", "-i"]).ok();
        let end = |role: &str, name: &str| seen.reference(role, name);
        page.ok(&["drag", &end("listitem", "One"), &end("listitem", "Three")]);
        page.assert_log("Two Three One");
        page.ok(&["drag", &end("listitem", "One"), &end("listitem", "Two")]);
        page.assert_log("One Two Three");
        // Places that listen to nothing; the second is far below.
        page.ok(&["drag", &end("clickable", "Tile"), &end("clickable", "Bin")]);
        page.assert_log("tile on bin");
        page.ok(&["drag", &end("clickable", "Tile"), &end("clickable", "Low")]);
        page.assert_log("tile on low");
        page.ok(&["drag", &end("group", "Card"), &end("clickable", "Column")]);
        page.assert_log("card in the column");
        page.ok(&["drag", &end("listitem", "Leaf"), &end("listitem", "Root")]);
        page.assert_log("Leaf into Root");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn fields_of_all_places_are_filled_and_typed_into() {
    Page::each(|page| {
        for (name, place) in [
            ("Field open", "open"),
            ("Field closed", "closed"),
            ("Inner shop.example.com", "shop.example.com"),
            ("Inner news.example.net", "news.example.net"),
        ] {
            let field = page.reference("textbox", name);
            page.ok(&["fill", &field, "one"]);
            page.assert_log(&format!("{place} holds one"));
            page.ok(&["type", &field, " two"]);
            page.assert_log(&format!("{place} holds one two"));
            page.ok(&["fill", &field, ""]);
            page.assert_log(&format!("{place} holds"));
        }
        let name = page.reference("textbox", "Name");
        assert_eq!(page.ok(&["fill", &name, "Ada"])["filled"], true);
        page.ok(&["fill", "#text", "one\ntwo"]);
        let editor = page.reference("textbox", "Editor");
        page.ok(&["fill", &editor, "new text"]);
        assert_eq!(page.ok(&["get", "text", "#editor"])["text"], "new text");
        page.ok(&["type", &editor, " more"]);
        assert_eq!(page.ok(&["get", "text", "#editor"])["text"], "new text more");
        page.ok(&["type", "#keys", "abc"]);
        page.ok(&["focus", "#keys"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn fields_with_a_format_take_it_and_name_it() {
    Page::each(|page| {
        for (field, value, wrong, hint) in [
            ("#date", "2011-03-21", "21.03.2011", "2011-03-21"),
            ("#time", "14:30", "half past two", "14:30"),
            ("#moment", "2011-03-21T14:30", "2011-03-21", "2011-03-21T14:30"),
            ("#month", "2011-03", "March", "2011-03"),
            ("#week", "2011-W12", "12", "2011-W12"),
            ("#color", "#ff8800", "orange", "#ff8800"),
            ("#range", "10", "much", "from `0` to `10` in steps of `5`"),
        ] {
            page.refused(&["fill", field, wrong], "no-effect", &[hint]);
            assert_eq!(page.ok(&["fill", field, value])["filled"], true, "{field}");
        }
        page.refused(&["fill", "#range", "99"], "no-effect", &["holds \"10\""]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn boxes_and_options_are_chosen() {
    Page::each(|page| {
        page.ok(&["check", "#box"]);
        assert_eq!(page.ok(&["is", "checked", "#box"])["checked"], true);
        page.ok(&["uncheck", &page.reference("checkbox", "Box")]);
        assert_eq!(page.ok(&["is", "checked", "#box"])["checked"], false);
        page.ok(&["check", "#painted"]);
        page.refused(&["check", "#stuck"], "no-effect", &["still not checked"]);
        let size = page.reference("combobox", "Size");
        page.ok(&["select", &size, "l"]);
        page.ok(&["select", &size, "Small"]);
        page.refused(&["select", &size, "Medium"], "option-unknown", &["\"Small\", \"Large\", \"Huge\""]);
        page.refused(&["select", &size, "x"], "element-disabled", &["Huge"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn act_without_an_effect_is_a_failure() {
    Page::each(|page| {
        let short = page.ok(&["fill", "#short", "abcdef"]);
        assert_eq!(short["doubt"], "the field holds \"abc\"; it takes at most 3 characters");
        page.refused(&["fill", "#short", "abcdef"], "no-effect", &["holds \"abc\"", "at most 3 characters"]);
        page.refused(&["fill", "#stubborn", "other"], "no-effect", &["holds \"same\""]);
        assert_eq!(page.ok(&["fill", "#phone", "0171234"])["holds"], "017 1234");
        let secret = page.call(&["fill", "#secret", "other"]);
        assert!(!format!("{secret:?}").contains("kept-9Kx2"), "{secret:?}");
        page.refused(&["fill", "h1", "x"], "element-read-only", &["takes no text"]);
        page.refused(&["fill", "#locked", "x"], "element-read-only", &["read-only"]);
        page.refused(&["focus", "h1"], "no-effect", &["focus"]);
        page.refused(&["type", "h1", "x"], "no-effect", &["takes no text and no keys"]);
        page.refused(&["select-text", "#painted"], "element-hidden", &["not visible"]);
        page.refused(&["forward"], "no-effect", &["no page to go forward to"]);
        page.ok(&["back"]);
        page.refused(&["back"], "no-effect", &["no page to go back to"]);
        page.ok(&["forward"]);
        page.assert_log("nothing");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn slider_that_takes_no_text_names_its_keys() {
    Page::each_at("gate/reading-states", |page| {
        let seen = page.call(&["snapshot", "-i"]).ok();
        for (role, name) in [("slider", "Price"), ("spinbutton", "Month")] {
            let element = seen.reference(role, name);
            page.refused(&["fill", &element, "4"], "element-read-only", &["focus it, and press ArrowRight"]);
            page.ok(&["focus", &element]);
        }
        let other = page.call(&["fill", "[aria-label=Copied]", "4"]);
        assert!(other.stderr.contains("takes no text") && !other.stderr.contains("ArrowRight"), "control: {other:?}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn disabled_and_covered_elements_are_refused() {
    Page::each(|page| {
        page.refused(&["click", "#off"], "element-disabled", &["`button` is disabled"]);
        page.refused(&["click", "#under"], "element-covered", &["dialog \"Cookies\" [ref=e"]);
        page.refused(&["click", "#painted"], "element-hidden", &[]);
        // Control: what covers this one goes away.
        page.ok(&["click", "#start"]);
        page.ok(&["click", "#soon"]);
        page.assert_log("soon clicked");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn references_that_are_gone_are_stale() {
    Page::each(|page| {
        let gone = page.reference("button", "Gone");
        page.ok(&["click", &gone]);
        page.ok(&["click", "#remove"]);
        page.refused(&["click", &gone], "stale-reference", &["is gone", "take a snapshot"]);
        page.refused(&["click", "@e99999"], "stale-reference", &["`@e99999` is gone"]);
        let plain = page.reference("button", "Plain");
        page.ok(&["click", &plain]);
        page.open();
        page.refused(&["click", &plain], "stale-reference", &["is gone"]);
        // The same node in another tab. A button moves over the link for 1.2 seconds, also between its press and release.
        page.wait_for_rest("#moving", |_| true);
        let plain = page.reference("button", "Plain");
        page.ok(&["click", "#tab"]);
        wait_for("the other tab", || (page.call(&["tab", "1"]).code == 0).then_some(()));
        page.refused(&["click", &plain], "stale-reference", &["another tab"]);
        page.ok(&["tab", "0"]);
        page.ok(&["click", &plain]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn selectors_are_resolved_at_once() {
    Page::each(|page| {
        let text = page.refused(&["click", "#twins button"], "element-ambiguous", &["2 elements", "button \"Twin\""]);
        page.ok(&["click", &reference_in(&text, 0)]);
        page.refused(&["click", "#nowhere"], "element-not-found", &[]);
        // Control: an element that comes while the call waits for it.
        page.ok(&["click", "#late"]);
        page.ok(&["click", "#latecomer"]);
        page.assert_log("latecomer clicked");
        assert_eq!(page.ok(&["is", "visible", "#plain"])["visible"], true);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn wait_lasts_as_long_as_the_call() {
    Page::each(|page| {
        let comes = |argv: &[&str]| {
            page.open();
            page.ok(&["click", "#slow"]);
            assert_eq!(page.ok(argv)["waited"], true, "{argv:?}");
        };
        // Longer than an act waits for its element.
        comes(&["wait", "#slow-place > b"]);
        comes(&["wait", "--text", "It has come"]);
        page.ok(&["wait", "#slow, #painted"]);
        // A text in the frames only.
        page.ok(&["wait", "--text", "Inside"]);
        let blink = page.reference("button", "Blink");
        page.ok(&["click", &blink]);
        page.ok(&["wait", &blink]);
        page.ok(&["click", &blink]);
        page.waits_in_vain(&["wait", "#nowhere"], "element-not-found");
        page.waits_in_vain(&["wait", "--text", "never shown"], "element-not-found");
        page.waits_in_vain(&["wait", "#painted"], "element-hidden");
        let gone = page.reference("button", "Gone");
        page.ok(&["click", "#remove"]);
        page.refused(&["wait", &gone], "stale-reference", &["is gone"]);
        page.ok(&["click", "#plain"]);
        page.assert_log("plain clicked");
        let audit = page.server.env().audit();
        let waits: Vec<_> = audit.lines().filter(|line| line.contains(r#""element-not-found""#)).collect();
        assert!(waits.len() == 2 && waits.iter().all(|line| line.contains(r#""engine":"cdp""#)), "{waits:?}");
    });
}
