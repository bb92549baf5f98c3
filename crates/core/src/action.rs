//! Actions that commands ask of our own engine.
//!
//! The validated argument vector stays what a call carries. For the engine `cdp`, [`Action::of`] says once what it means, so that nothing
//! behind it looks at names of subcommands.

use std::time::Duration;

use crate::element::{Act, Edge, Verb};
use crate::grammar::{Awaited, Command, FIND, GONE, LocalAnswer, ValueKind};
use crate::keyboard::Chord;
use crate::snapshot::Options;

/// Load state that a command waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadState {
    /// The document is parsed.
    Parsed,
    /// The document and what it contains are loaded.
    Loaded,
    /// Nothing is requested for half a second.
    NetworkIdle,
}

impl LoadState {
    /// Returns the name in commands and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Parsed => "domcontentloaded",
            Self::Loaded => "load",
            Self::NetworkIdle => "networkidle",
        }
    }
}

/// Condition that a command waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// An element that can be seen, by its selector or reference.
    Element(String),
    /// Nothing to be seen of an element, by its selector or reference.
    Gone(String),
    /// A text that can be seen.
    Text(String),
    /// The end of a time.
    Time(Duration),
    /// A URL that matches a pattern.
    Url(String),
    /// A load state.
    Load(LoadState),
}

/// Picture of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureExtent {
    /// The part that is in view.
    View,
    /// The whole page.
    Page,
}

/// Action of the engine `cdp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a URL in the active tab.
    Open(String),
    /// Go one page back in the history.
    Back,
    /// Go one page forward in the history.
    Forward,
    /// Load the page again.
    Reload,
    /// Read the page as a tree.
    Snapshot {
        /// View of the page.
        options: Options,
        /// Selector of the element to begin with.
        selector: Option<String>,
        /// Text that the parts are shown of.
        wanted: Option<String>,
    },
    /// Act on an element, or read a property of it.
    Element {
        /// The act.
        act: Act,
        /// Its element, by reference or selector.
        selector: String,
        /// The element to which it is dragged.
        other: Option<String>,
    },
    /// Press a key a number of times.
    Press(Chord, u32),
    /// Scroll what is in the middle of the page: right and down, in CSS pixels.
    Scroll(i32, i32),
    /// Scroll the page to an edge.
    ScrollTo(Edge),
    /// Wait.
    Wait(Condition),
    /// Return the number of elements that a selector matches.
    Count(String),
    /// Return the URL of the page.
    Url,
    /// Return the title of the page.
    Title,
    /// Take a picture, and write it to the file of the call.
    Picture(PictureExtent),
    /// Print the page to the file of the call.
    Print,
    /// List the tabs.
    Tabs,
    /// Make a tab the active one, by its position.
    TurnTo(usize),
    /// Close a tab, by its position, or the active one.
    CloseTab(Option<usize>),
    /// End the session.
    Close,
}

impl Action {
    /// Returns what a command asks for. `None` if the engine lacks the subcommand, or the command is answered without one.
    #[must_use]
    pub fn of(command: &Command) -> Option<Self> {
        if command.local_answer().is_some_and(|answer| answer != LocalAnswer::Dialog) {
            return None;
        }
        let value = |kind: ValueKind| command.value(|other| other == kind).map(str::to_owned);
        let mut selectors = command.selectors().map(str::to_owned);
        Some(match (command.row.name, command.form.word) {
            ("open", None) => Self::Open(value(ValueKind::Url)?),
            ("back", None) => Self::Back,
            ("forward", None) => Self::Forward,
            ("reload", None) => Self::Reload,
            ("snapshot", None) => Self::Snapshot {
                options: snapshot_options(command),
                selector: selectors.next(),
                wanted: command.flag_value(FIND).map(str::to_owned),
            },
            ("press", None) => Self::Press(Chord::parse(&value(ValueKind::Key)?).ok()?, number(command).unwrap_or(1)),
            ("wait", None) => Self::Wait(condition(command)?),
            ("get", Some("count")) => Self::Count(selectors.next()?),
            ("get", Some("url")) => Self::Url,
            ("get", Some("title")) => Self::Title,
            ("pdf", None) => Self::Print,
            ("tab", None) => match command.tab() {
                Some(tab) => Self::TurnTo(tab.index()),
                None => Self::Tabs,
            },
            ("tab", Some("list")) => Self::Tabs,
            ("tab", Some("close")) => Self::CloseTab(command.tab().map(crate::grammar::Tab::index)),
            ("close", None) => Self::Close,
            (name, _) => match (selectors.next(), Act::from_command(command)) {
                (Some(selector), Some(act)) => Self::Element { act, selector, other: selectors.next() },
                (None, Some(Act { verb: Verb::Picture, .. })) => {
                    Self::Picture(if command.has_flag("--full") { PictureExtent::Page } else { PictureExtent::View })
                }
                (None, Some(Act { verb: Verb::ScrollTo(edge), .. })) => Self::ScrollTo(edge),
                (None, Some(act)) if name == "scroll" => {
                    let (right, down) = act.direction();
                    Self::Scroll(right, down)
                }
                _ => return None,
            },
        })
    }

    /// Returns true if the action sends keys or the pointer to the page, or prints it.
    #[must_use]
    pub const fn sends_input(&self) -> bool {
        match self {
            Self::Element { act, .. } => !matches!(act.verb, Verb::Read(_) | Verb::Picture),
            Self::Press(..) | Self::Scroll(..) | Self::ScrollTo(_) | Self::Print => true,
            _ => false,
        }
    }

    /// Returns true if the action is about an element, which it waits for itself until its tab is shown.
    #[must_use]
    pub const fn looks_for_element(&self) -> bool {
        matches!(self, Self::Element { .. } | Self::Picture(PictureExtent::View))
    }
}

fn number(command: &Command) -> Option<u32> {
    command.value(|kind| matches!(kind, ValueKind::Number(..)))?.parse().ok()
}

fn snapshot_options(command: &Command) -> Options {
    Options {
        is_interactive: command.has_flag("-i"),
        is_compact: command.has_flag("-c"),
        depth: number(command).and_then(|depth| depth.try_into().ok()),
        root: None,
    }
}

fn condition(command: &Command) -> Option<Condition> {
    let value = |kind: ValueKind| command.value(|other| other == kind);
    if let Some(selector) = command.flag_value(GONE) {
        return Some(Condition::Gone(selector.to_owned()));
    }
    Some(match command.awaited() {
        Some(Awaited::Element(selector)) => Condition::Element(selector.to_owned()),
        Some(Awaited::Text(text)) => Condition::Text(text.to_owned()),
        None => {
            let state = command.value(|kind| matches!(kind, ValueKind::Word(_)));
            match (value(ValueKind::SelectorOrMilliseconds), value(ValueKind::UrlPattern), state) {
                (Some(time), ..) => Condition::Time(Duration::from_millis(time.parse().ok()?)),
                (_, Some(pattern), _) => Condition::Url(pattern.to_owned()),
                (_, _, Some("domcontentloaded")) => Condition::Load(LoadState::Parsed),
                (_, _, Some("networkidle")) => Condition::Load(LoadState::NetworkIdle),
                (_, _, Some(_)) => Condition::Load(LoadState::Loaded),
                _ => return None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{GRAMMAR, Profile, parse};

    fn action(argv: &[&str]) -> Option<Action> {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        Action::of(&parse(Profile::Tool, &argv, |_| true).expect("accepted"))
    }

    #[test]
    fn commands_mean_actions() {
        let element = |argv: &[&str]| match action(argv) {
            Some(Action::Element { act, selector, other }) => (act.verb, selector, other),
            other => panic!("{argv:?}: {other:?}"),
        };
        let wait = |argv: &[&str]| match action(argv) {
            Some(Action::Wait(condition)) => condition,
            other => panic!("{argv:?}: {other:?}"),
        };
        assert_eq!(action(&["open", "https://a.example/"]), Some(Action::Open("https://a.example/".to_owned())));
        assert_eq!(element(&["click", "@e1"]).0, Verb::Click);
        assert_eq!(element(&["drag", "#a", "#b"]), (Verb::Drag, "#a".to_owned(), Some("#b".to_owned())));
        assert_eq!(element(&["scroll", "#a"]).0, Verb::ScrollIntoView);
        assert_eq!(element(&["scroll", "up", "-s", "#a"]).0, Verb::Scroll);
        assert_eq!(element(&["screenshot", "#a"]).0, Verb::Picture);
        assert_eq!(action(&["scroll", "up", "10"]), Some(Action::Scroll(0, -10)));
        assert_eq!(action(&["scroll"]), Some(Action::Scroll(0, 300)));
        assert_eq!(action(&["scroll", "left", "2147483647"]), Some(Action::Scroll(-i32::MAX, 0)));
        for edge in [Edge::Top, Edge::Bottom, Edge::Left, Edge::Right] {
            assert_eq!(action(&["scroll", "--to", edge.as_str()]), Some(Action::ScrollTo(edge)));
        }
        assert_eq!(element(&["scroll", "-s", "#a", "--to", "top"]).0, Verb::ScrollTo(Edge::Top));
        assert_eq!(action(&["screenshot"]), Some(Action::Picture(PictureExtent::View)));
        assert_eq!(action(&["screenshot", "--full"]), Some(Action::Picture(PictureExtent::Page)));
        assert!(matches!(action(&["press", "a", "3"]), Some(Action::Press(_, 3))));
        assert_eq!(wait(&["wait", "20"]), Condition::Time(Duration::from_millis(20)));
        assert_eq!(wait(&["wait", "#a"]), Condition::Element("#a".to_owned()));
        assert_eq!(wait(&["wait", "--gone", "@e1"]), Condition::Gone("@e1".to_owned()));
        assert_eq!(wait(&["wait", "--url", "**/x"]), Condition::Url("**/x".to_owned()));
        assert_eq!(wait(&["wait", "--load", "networkidle"]), Condition::Load(LoadState::NetworkIdle));
        assert_eq!(action(&["tab", "2"]), Some(Action::TurnTo(2)));
        assert_eq!(action(&["tab", "close"]), Some(Action::CloseTab(None)));
        assert_eq!(action(&["get", "count", "li"]), Some(Action::Count("li".to_owned())));
    }

    /// Returns values for the positionals and required flags of a form.
    fn example(form: &crate::grammar::Form) -> Vec<String> {
        let text = |kind| match kind {
            ValueKind::Url => "https://a.example/",
            ValueKind::Key => "Enter",
            ValueKind::Number(..) => "1",
            ValueKind::Word(words) => words[0],
            ValueKind::Offset => "1,1",
            ValueKind::Modifiers => "Shift",
            ValueKind::AttributeName => "href",
            ValueKind::FileName(ending) => match ending {
                ".pdf" => "a.pdf",
                _ => "a.png",
            },
            ValueKind::UrlPattern => "**",
            _ => "#a",
        };
        let mut argv: Vec<String> = form.word.iter().map(|word| (*word).to_owned()).collect();
        for flag in form.flags.iter().filter(|flag| flag.is_required) {
            argv.push(flag.name.to_owned());
            argv.extend(flag.value.map(|(_, kind)| text(kind).to_owned()));
        }
        let flag_last = argv.iter().any(|word| word == "--full");
        let positionals = form.positionals.iter().map(|positional| text(positional.kind).to_owned());
        if flag_last {
            argv.splice(0..0, positionals);
        } else {
            argv.extend(positionals);
        }
        argv
    }

    #[test]
    fn every_form_of_the_tool_is_an_action_or_answered_by_the_gate() {
        for row in GRAMMAR {
            for form in row.forms {
                let mut argv = vec![row.name.to_owned()];
                argv.extend(example(form));
                let command = parse(Profile::Tool, &argv, |_| true).unwrap_or_else(|error| panic!("{argv:?}: {error}"));
                let is_dialog = command.local_answer() == Some(LocalAnswer::Dialog);
                assert_eq!(Action::of(&command).is_none(), is_dialog, "{argv:?}");
            }
        }
    }
}
