//! Acts on one element, as commands ask for them, and references in selectors.

use std::time::Duration;

use super::state::ElementState;
use crate::grammar::{AT, BUTTON, Command, EDGES, FROM, HOLD, MODIFIERS, TO, ValueKind};
use crate::keyboard::Modifier;

/// Property of an element that a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Visible text.
    Text,
    /// HTML of the content.
    Html,
    /// An attribute.
    Attribute,
    /// Position and size.
    Box,
    /// Visibility.
    IsVisible,
    /// Readiness for input.
    IsEnabled,
    /// State of a checkbox.
    IsChecked,
    /// Content of a field.
    Value,
}

/// Edge to which something scrolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Top.
    Top,
    /// Bottom.
    Bottom,
    /// Left.
    Left,
    /// Right.
    Right,
}

impl Edge {
    /// All of them, in the order of the grammar.
    const ALL: [Self; EDGES.len()] = [Self::Top, Self::Bottom, Self::Left, Self::Right];

    /// Returns the edge that a command names.
    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edge| edge.as_str() == text)
    }

    /// Returns the name in commands and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Bottom => "bottom",
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// Kind of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Click.
    Click,
    /// Double click.
    DoubleClick,
    /// Pointer over the element.
    Hover,
    /// Focus.
    Focus,
    /// Replacement of the text.
    Fill,
    /// Text key by key.
    Type,
    /// Checkbox on.
    Check,
    /// Checkbox off.
    Uncheck,
    /// Choice of options.
    Select,
    /// Scrolling of the element.
    Scroll,
    /// Scrolling of the element to an edge.
    ScrollTo(Edge),
    /// Scrolling of the page until the element is in view.
    ScrollIntoView,
    /// Selection of the text, or of a part of it.
    SelectText,
    /// Move to another element with the button pressed.
    Drag,
    /// Reading of a property.
    Read(Reading),
    /// Picture.
    Picture,
}

impl Verb {
    /// Returns `true` if the act needs a point of the element that nothing covers.
    #[must_use]
    pub const fn uses_pointer(self) -> bool {
        matches!(self, Self::Click | Self::DoubleClick | Self::Hover | Self::Check | Self::Uncheck | Self::Drag)
    }

    /// Returns `true` if the act presses the pointer on the element.
    #[must_use]
    pub const fn is_press(self) -> bool {
        matches!(self, Self::Click | Self::DoubleClick | Self::Check | Self::Uncheck)
    }

    /// Returns `true` if the act gives the element input.
    #[must_use]
    pub const fn is_input(self) -> bool {
        let is_scroll = matches!(self, Self::Scroll | Self::ScrollTo(_) | Self::ScrollIntoView);
        !is_scroll && !matches!(self, Self::Hover | Self::Read(_) | Self::Picture)
    }

    /// Returns the member by which an answer confirms the act, as agent-browser does.
    #[must_use]
    pub const fn confirmation(self) -> &'static str {
        match self {
            Self::Click | Self::DoubleClick => "clicked",
            Self::Hover => "hovered",
            Self::Focus => "focused",
            Self::Fill => "filled",
            Self::Type => "typed",
            Self::Check => "checked",
            Self::Uncheck => "unchecked",
            Self::Select | Self::SelectText => "selected",
            Self::Scroll | Self::ScrollTo(_) | Self::ScrollIntoView => "scrolled",
            Self::Drag => "dragged",
            Self::Read(_) | Self::Picture => "read",
        }
    }
}

/// Button of the pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Button {
    /// Left.
    #[default]
    Left,
    /// Right.
    Right,
}

/// Manner of a press of the pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Press {
    /// Button.
    pub button: Button,
    /// Keys that are held meanwhile.
    pub modifiers: Vec<Modifier>,
    /// Time between the press and the release.
    pub hold: Duration,
}

/// Act on one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// Kind.
    pub verb: Verb,
    /// Text that is entered, words that are selected, name of the attribute that is read, or direction of scrolling.
    pub text: String,
    /// Options that are chosen.
    pub options: Vec<String>,
    /// Distance of scrolling, in CSS pixels.
    pub distance: u32,
    /// Distance of the pointer from the left and the top of the element, in CSS pixels; `None` for its middle.
    pub offset: Option<(u32, u32)>,
    /// The same in the element to which it is dragged.
    pub destination: Option<(u32, u32)>,
    /// Manner of a click.
    pub press: Press,
}

impl Act {
    /// Returns how far a page scrolls: right and down, in CSS pixels.
    #[must_use]
    pub fn direction(&self) -> (i32, i32) {
        let distance = i32::try_from(self.distance).unwrap_or(i32::MAX);
        match self.text.as_str() {
            "up" => (0, -distance),
            "left" => (-distance, 0),
            "right" => (distance, 0),
            _ => (0, distance),
        }
    }

    /// Returns the act that enters the option which this one selects, in a field that suggests options.
    #[must_use]
    pub fn as_entry(&self, field: &ElementState) -> Option<Self> {
        let name = self.options.first().filter(|_| self.verb == Verb::Select && field.suggests_options())?;
        let option = field.option(name)?;
        Some(Self { verb: Verb::Fill, text: option.value.clone(), ..self.clone() })
    }

    /// Returns the text that is typed, in which each line break is one key.
    #[must_use]
    pub fn typed_text(&self) -> String {
        self.text.replace("\r\n", "\n").replace('\r', "\n")
    }

    /// Returns the act of a command, or `None` if it acts on no element.
    #[must_use]
    pub fn from_command(command: &Command) -> Option<Self> {
        let verb = match (command.row.name, command.form.word) {
            ("click", _) => Verb::Click,
            ("dblclick", _) => Verb::DoubleClick,
            ("hover", _) => Verb::Hover,
            ("focus", _) => Verb::Focus,
            ("fill", _) => Verb::Fill,
            ("type", _) => Verb::Type,
            ("check", _) => Verb::Check,
            ("uncheck", _) => Verb::Uncheck,
            ("select", _) => Verb::Select,
            ("scroll", _) if command.form.flags.is_empty() => Verb::ScrollIntoView,
            ("scroll", _) => command.flag_value(TO).and_then(Edge::parse).map_or(Verb::Scroll, Verb::ScrollTo),
            ("select-text", _) => Verb::SelectText,
            ("drag", _) => Verb::Drag,
            ("get", Some("value")) => Verb::Read(Reading::Value),
            ("screenshot", _) => Verb::Picture,
            ("get", Some("text")) => Verb::Read(Reading::Text),
            ("get", Some("html")) => Verb::Read(Reading::Html),
            ("get", Some("attr")) => Verb::Read(Reading::Attribute),
            ("get", Some("box")) => Verb::Read(Reading::Box),
            ("is", Some("visible")) => Verb::Read(Reading::IsVisible),
            ("is", Some("enabled")) => Verb::Read(Reading::IsEnabled),
            ("is", Some("checked")) => Verb::Read(Reading::IsChecked),
            _ => return None,
        };
        let texts = |kinds: &[ValueKind]| {
            let values = command.values().filter(|(kind, _)| kinds.contains(kind));
            values.map(|(_, text)| text.to_owned()).collect::<Vec<_>>()
        };
        let first = |kinds: &[ValueKind]| texts(kinds).into_iter().next().unwrap_or_default();
        let is_word = |kind: ValueKind| matches!(kind, ValueKind::Word(_));
        let is_number = |kind: ValueKind| matches!(kind, ValueKind::Number(..));
        Some(Self {
            verb,
            text: match verb {
                Verb::Scroll => command.value(is_word).unwrap_or("down").to_owned(),
                _ => first(&[ValueKind::MultilineText, ValueKind::Phrase, ValueKind::AttributeName]),
            },
            options: if verb == Verb::Select { texts(&[ValueKind::Text]) } else { Vec::new() },
            offset: command.offset(AT).or_else(|| command.offset(FROM)),
            destination: command.offset(TO),
            press: Press {
                button: if command.flag_value(BUTTON) == Some("right") { Button::Right } else { Button::Left },
                modifiers: command.flag_value(MODIFIERS).and_then(Modifier::list).unwrap_or_default(),
                hold: Duration::from_millis(command.flag_value(HOLD).and_then(|text| text.parse().ok()).unwrap_or(0)),
            },
            distance: command.value(is_number).and_then(|text| text.parse().ok()).unwrap_or(300),
        })
    }
}

/// Reference of a snapshot in a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Reference of a node, by its number.
    Number(u32),
    /// Text in the form of a reference that no snapshot contains.
    Unknown,
}

impl Reference {
    /// Parses a selector in one of the forms of a reference: `@e1`, `ref=e1`, `[ref=e1]`, `e1`. Returns `None` for another selector.
    #[must_use]
    pub fn parse(selector: &str) -> Option<Self> {
        let selector = selector.trim();
        let bracketed = selector.strip_prefix("[ref=").and_then(|rest| rest.strip_suffix(']'));
        let explicit = selector.strip_prefix('@').or_else(|| selector.strip_prefix("ref=")).or(bracketed);
        match (explicit, number(selector)) {
            (Some(name), _) => Some(number(name).map_or(Self::Unknown, Self::Number)),
            (None, Some(number)) => Some(Self::Number(number)),
            (None, None) => None,
        }
    }
}

/// Returns the number in `e1`.
fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('e')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}
