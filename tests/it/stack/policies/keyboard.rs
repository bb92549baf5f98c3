//! Keyboard and mouse of the person at the screen: they can open other pages and nothing else.
//!
//! In the guarded Chromium, each test ends with the shortcut for a new tab. When that tab exists, the previous
//! shortcut has been handled.

use serde_json::json;

use super::{
    browser::{Cdp, Chromium, Files, LaunchOptions, ours},
    hosts::{SHOP, Site},
    screen::{CONTROL, ENTER, ESCAPE, F12, SHIFT, Screen},
};
use crate::harness::processes::wait_for;

/// A Chromium on a screen, with one page.
struct ScreenBrowser {
    chromium: Chromium,
    screen: Screen,
    tab: Cdp,
}

impl ScreenBrowser {
    fn start(files: &Files, url: &str) -> Self {
        let screen = Screen::start();
        let chromium =
            Chromium::start(files, &LaunchOptions { display: Some(&screen.display), ..LaunchOptions::default() });
        let mut tab = chromium.first_tab();
        tab.open(url);
        Self { chromium, screen, tab }
    }

    /// Starts it with the page in the foreground and focused.
    fn start_focused(files: &Files, url: &str) -> Self {
        let mut person = Self::start(files, url);
        wait_for("the focus", || {
            person.screen.click();
            (person.tab.run("document.hasFocus()") == json!(true)).then_some(())
        });
        // When this key has arrived, all clicks have arrived, so none can take the focus later.
        person.tab.run("void (onkeydown = () => { window.heard = true })");
        person.screen.press(&[letter('x')]);
        wait_for("a key", || (person.tab.run("window.heard") == json!(true)).then_some(()));
        person
    }

    fn urls(&self) -> Vec<String> {
        self.chromium.pages().into_iter().map(|(_, url)| url).collect()
    }

    /// Repeats an action until it has an effect, each time after a longer wait. On a busy machine the focus may move late, and a second press
    /// of some keys ends what the first one began.
    #[track_caller]
    fn repeat_until<T>(
        &mut self,
        awaited: &str,
        act: impl Fn(&mut Screen),
        mut effect: impl FnMut(&mut Self) -> Option<T>,
    ) -> T {
        let (mut looks, mut next) = (0, 1);
        wait_for(awaited, || {
            looks += 1;
            if looks >= next {
                act(&mut self.screen);
                next = 3 * looks + 200;
            }
            effect(self)
        })
    }

    /// Opens a new tab and returns all pages except that and the initial page.
    fn opened_pages(&mut self, page: &str) -> Vec<String> {
        let mut others = self.repeat_until(
            "a new tab",
            |screen| screen.press(&[CONTROL, letter('t')]),
            |person| {
                let urls = person.urls();
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
fn shortcuts_open_no_devtools_source_or_other_window() {
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
        let mut guarded = ScreenBrowser::start_focused(&ours(), &url);
        guarded.screen.press(keys);
        assert_eq!(guarded.opened_pages(&url), <[&str; 0]>::default(), "{what}");
        assert_eq!(guarded.tab.text("document.title"), "nothing yet", "{what}");
        drop(guarded);
        let mut control = ScreenBrowser::start_focused(&Files::new(), &url);
        control.repeat_until(
            "control: what the shortcut is for",
            |screen| screen.press(keys),
            |person| person.urls().iter().any(|url| url.starts_with(what)).then_some(()),
        );
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_cannot_print() {
    let page = include_bytes!("../../../e2e/pages/policy-print.html").to_vec();
    let shop = Site::start(SHOP, vec![("/", "Content-Type: text/html\r\n", page)]);
    let url = shop.url("/");
    let mut guarded = ScreenBrowser::start_focused(&ours(), &url);
    guarded.tab.run("print()");
    assert_eq!(guarded.tab.text("document.title"), "nothing yet");
    assert_eq!(guarded.opened_pages(&url), <[&str; 0]>::default());
    drop(guarded);
    let mut control = ScreenBrowser::start_focused(&Files::new(), &url);
    // Not immediately, because a page that prints is blocked.
    control.tab.run("void setTimeout(print)");
    wait_for("control: the dialog", || control.urls().iter().any(|url| url == "chrome://print/").then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn address_bar_runs_no_scripts() {
    let shop = Site::start(SHOP, Vec::new());
    let url = shop.url("/");
    let type_it = |person: &mut ScreenBrowser| {
        // Earlier letters would go to the page, and the rest would be a search.
        person.repeat_until(
            "the focus of the address bar",
            |screen| screen.press(&[CONTROL, letter('l')]),
            |person| (person.tab.run("document.hasFocus()") == json!(false)).then_some(()),
        );
        person.screen.write("javascript:void(document.title='ran')");
        person.screen.press(&[ENTER]);
    };
    let mut guarded = ScreenBrowser::start_focused(&ours(), &url);
    type_it(&mut guarded);
    assert_eq!(guarded.opened_pages(&url), <[&str; 0]>::default());
    assert_eq!(guarded.tab.text("document.title"), "page");
    drop(guarded);
    let mut control = ScreenBrowser::start_focused(&Files::new(), &url);
    type_it(&mut control);
    wait_for("control: the script", || (control.tab.text("document.title") == "ran").then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn file_chooser_never_opens() {
    let page = include_bytes!("../../../e2e/pages/policy-file.html").to_vec();
    let shop = Site::start(SHOP, vec![("/", "Content-Type: text/html\r\n", page)]);
    for (files, title) in [(ours(), "cancelled"), (Files::new(), "a dialog")] {
        let mut person = ScreenBrowser::start(&files, &shop.url("/"));
        let seen = wait_for("what the click does", || {
            person.screen.click();
            let title = person.tab.text("document.title");
            (title != "nothing yet").then_some(title)
        });
        assert_eq!(seen, title);
        person.screen.press(&[ESCAPE]);
    }
}
