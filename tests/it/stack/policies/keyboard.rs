//! Keyboard and mouse of the person at the screen: they can open other pages and nothing else.
//!
//! In the guarded Chromium, each test ends with the shortcut for a new tab. When that tab exists, the previous
//! shortcut has been handled.

use std::cell::Cell;

use serde_json::json;

use super::{
    browser::{Cdp, Chromium, Files, LaunchOptions, ours},
    hosts::{SHOP, Site},
    screen::{CONTROL, ENTER, ESCAPE, F12, SHIFT, Screen},
};
use crate::harness::processes::wait_for;

/// Addresses of a new tab, of which the page is blocked: with our policies, and with settings alone.
const NEW_TABS: [&str; 2] = ["chrome://newtab/", "chrome://new-tab-page-third-party/"];

/// A Chromium on a screen, with one page.
struct ScreenBrowser {
    chromium: Chromium,
    screen: Screen,
    tab: Cdp,
}

impl ScreenBrowser {
    fn start(files: &Files, url: &str) -> Self {
        Self::start_with(files, &LaunchOptions::default(), url)
    }

    /// Starts it by our helper, which writes settings, without policies.
    fn start_launched(url: &str) -> Self {
        Self::start_with(&Files::new(), &LaunchOptions { is_launched: true, ..LaunchOptions::default() }, url)
    }

    fn start_with(files: &Files, options: &LaunchOptions, url: &str) -> Self {
        let screen = Screen::start();
        let chromium = Chromium::start(files, &LaunchOptions { display: Some(&screen.display), ..options.clone() });
        let mut tab = chromium.first_tab();
        tab.open(url);
        Self { chromium, screen, tab }
    }

    /// Starts it with the page in the foreground and focused.
    fn start_focused(files: &Files, url: &str) -> Self {
        Self::start(files, url).focused()
    }

    /// Puts the page in the foreground and focuses it.
    fn focused(mut self) -> Self {
        wait_for("the focus", || {
            self.screen.click();
            (self.tab.run("document.hasFocus()") == json!(true)).then_some(())
        });
        // When this key has arrived, all clicks have arrived, so none can take the focus later.
        self.tab.run("void (onkeydown = () => { window.heard = true })");
        self.screen.press(&[letter('x')]);
        wait_for("a key", || (self.tab.run("window.heard") == json!(true)).then_some(()));
        self
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
        let is_new_tab = |url: &String| NEW_TABS.contains(&url.as_str());
        let presses = Cell::new(0);
        let mut others = self.repeat_until(
            "a new tab",
            |screen| {
                presses.set(presses.get() + 1);
                screen.press(&[CONTROL, letter('t')]);
            },
            |person| {
                let urls = person.urls();
                urls.iter().any(is_new_tab).then_some(urls)
            },
        );
        let at = others.iter().position(|url| url == page).unwrap_or_else(|| panic!("{page} in {others:?}"));
        others.remove(at);
        for _ in 0..presses.get() {
            // The last ones may still come.
            let Some(at) = others.iter().position(is_new_tab) else { break };
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
        for start in [|url: &str| ScreenBrowser::start(&ours(), url), ScreenBrowser::start_launched] {
            let mut guarded = start(&url).focused();
            guarded.screen.press(keys);
            assert_eq!(guarded.opened_pages(&url), <[&str; 0]>::default(), "{what}");
            assert_eq!(guarded.tab.text("document.title"), "nothing yet", "{what}");
        }
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
    let url = shop.url("/");
    for (mut person, title) in [
        (ScreenBrowser::start(&ours(), &url), "cancelled"),
        (ScreenBrowser::start_launched(&url), "cancelled"),
        (ScreenBrowser::start(&Files::new(), &url), "a dialog"),
    ] {
        let seen = wait_for("what the click does", || {
            person.screen.click();
            let title = person.tab.text("document.title");
            (title != "nothing yet").then_some(title)
        });
        assert_eq!(seen, title);
        person.screen.press(&[ESCAPE]);
    }
}
