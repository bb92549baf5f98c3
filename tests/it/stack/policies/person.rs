//! What the person at the screen can open with the keyboard and the mouse: other
//! pages, and nothing else.
//!
//! In the guarded Chromium each test ends with the shortcut for a new tab: when
//! that is there, the shortcut before it has been handled.

use serde_json::json;

use super::{
    browser::{Cdp, Chromium, Files, Setting, ours},
    hosts::{SHOP, Site},
    screen::{CONTROL, ENTER, ESCAPE, F12, SHIFT, Screen},
};
use crate::harness::processes::until;

/// A Chromium on a screen, with one page.
struct Seat {
    chromium: Chromium,
    screen: Screen,
    tab: Cdp,
}

impl Seat {
    fn take(files: &Files, url: &str) -> Self {
        let screen = Screen::start();
        let chromium = Chromium::start(files, &Setting { display: Some(&screen.display), ..Setting::default() });
        let mut tab = chromium.first_tab();
        tab.open(url);
        Self { chromium, screen, tab }
    }

    /// The same, with the page in front and with the focus.
    fn at_the_page(files: &Files, url: &str) -> Self {
        let mut seat = Self::take(files, url);
        until("the focus", || {
            seat.screen.click();
            (seat.tab.run("document.hasFocus()") == json!(true)).then_some(())
        });
        // when it has heard this key, it has heard every click: none comes later and takes the focus back
        seat.tab.run("void (onkeydown = () => { window.heard = true })");
        seat.screen.press(&[letter('x')]);
        until("a key", || (seat.tab.run("window.heard") == json!(true)).then_some(()));
        seat
    }

    fn urls(&self) -> Vec<String> {
        self.chromium.pages().into_iter().map(|(_, url)| url).collect()
    }

    /// Does something until it has had its effect: on a busy machine the focus may move late.
    #[track_caller]
    fn until<T>(
        &mut self,
        awaited: &str,
        act: impl Fn(&mut Screen),
        mut effect: impl FnMut(&mut Self) -> Option<T>,
    ) -> T {
        let mut looks = 0;
        until(awaited, || {
            if looks % 200 == 0 {
                act(&mut self.screen);
            }
            looks += 1;
            effect(self)
        })
    }

    /// Opens a new tab and gives what is open besides that and the page.
    fn opened(&mut self, page: &str) -> Vec<String> {
        let mut others = self.until(
            "a new tab",
            |screen| screen.press(&[CONTROL, letter('t')]),
            |seat| {
                let urls = seat.urls();
                urls.iter().any(|url| url == "chrome://newtab/").then_some(urls)
            },
        );
        for known in [page, "chrome://newtab/"] {
            let at = others.iter().position(|url| url == known).unwrap_or_else(|| panic!("{known} in {others:?}"));
            others.remove(at);
        }
        others
    }
}

fn letter(letter: char) -> u32 {
    u32::from(letter)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn shortcuts_open_no_tools_no_source_and_no_other_window() {
    let page = include_bytes!("../../../e2e/pages/policy-print.html").to_vec();
    let shop = Site::start(SHOP, vec![("/", "Content-Type: text/html\r\n", page)]);
    let url = shop.url("/");
    for (keys, what) in [
        (&[F12] as &[u32], "devtools://"),
        (&[CONTROL, SHIFT, letter('i')], "devtools://"),
        (&[CONTROL, SHIFT, letter('j')], "devtools://"),
        (&[CONTROL, letter('u')], "view-source:"),
        (&[CONTROL, SHIFT, letter('n')], "chrome://newtab/"),
        (&[CONTROL, letter('p')], "chrome://print/"),
    ] {
        let mut guarded = Seat::at_the_page(&ours(), &url);
        guarded.screen.press(keys);
        assert_eq!(guarded.opened(&url), <[&str; 0]>::default(), "{what}");
        assert_eq!(guarded.tab.text("document.title"), "nothing yet", "{what}");
        drop(guarded);
        let mut control = Seat::at_the_page(&Files::new(), &url);
        control.until(
            "control: what the shortcut is for",
            |screen| screen.press(keys),
            |seat| seat.urls().iter().any(|url| url.starts_with(what)).then_some(()),
        );
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_cannot_print() {
    let page = include_bytes!("../../../e2e/pages/policy-print.html").to_vec();
    let shop = Site::start(SHOP, vec![("/", "Content-Type: text/html\r\n", page)]);
    let url = shop.url("/");
    let mut guarded = Seat::at_the_page(&ours(), &url);
    guarded.tab.run("print()");
    assert_eq!(guarded.tab.text("document.title"), "nothing yet");
    assert_eq!(guarded.opened(&url), <[&str; 0]>::default());
    drop(guarded);
    let mut control = Seat::at_the_page(&Files::new(), &url);
    // not at once: a page that prints stands still
    control.tab.run("void setTimeout(print)");
    until("control: the dialog", || control.urls().iter().any(|url| url == "chrome://print/").then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_address_bar_runs_no_scripts() {
    let shop = Site::start(SHOP, Vec::new());
    let url = shop.url("/");
    let type_it = |seat: &mut Seat| {
        // letters that come too early would be the page's, and the rest of them a search
        seat.until(
            "the focus of the address bar",
            |screen| screen.press(&[CONTROL, letter('l')]),
            |seat| (seat.tab.run("document.hasFocus()") == json!(false)).then_some(()),
        );
        seat.screen.write("javascript:void(document.title='ran')");
        seat.screen.press(&[ENTER]);
    };
    let mut guarded = Seat::at_the_page(&ours(), &url);
    type_it(&mut guarded);
    assert_eq!(guarded.opened(&url), <[&str; 0]>::default());
    assert_eq!(guarded.tab.text("document.title"), "page");
    drop(guarded);
    let mut control = Seat::at_the_page(&Files::new(), &url);
    type_it(&mut control);
    until("control: the script", || (control.tab.text("document.title") == "ran").then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_file_chooser_opens() {
    let page = include_bytes!("../../../e2e/pages/policy-file.html").to_vec();
    let shop = Site::start(SHOP, vec![("/", "Content-Type: text/html\r\n", page)]);
    for (files, title) in [(ours(), "cancelled"), (Files::new(), "a dialog")] {
        let mut seat = Seat::take(&files, &shop.url("/"));
        let seen = until("what the click does", || {
            seat.screen.click();
            let title = seat.tab.text("document.title");
            (title != "nothing yet").then_some(title)
        });
        assert_eq!(seen, title);
        seat.screen.press(&[ESCAPE]);
    }
}
