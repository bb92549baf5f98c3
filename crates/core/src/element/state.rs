//! State of an element, as the gate reads it, and the formats of fields whose value is no free text: dates, times, colors, numbers and
//! ranges.
//!
//! The browser discards a value in another form without a message, so it is checked first.

use serde::Deserialize;

use crate::output::{collapse_blanks, word};

/// Words of `autocomplete` for fields that hold secrets. Scripts for pages get them from here.
pub const SECRET_WORDS: &[&str] = &["current-password", "new-password", "one-time-code", "cc-csc"];

/// Returns `true` if a field with this attribute `autocomplete` holds a secret.
#[must_use]
pub fn asks_for_secret(autocomplete: &str) -> bool {
    let mut words = autocomplete.split_ascii_whitespace();
    words.any(|word| SECRET_WORDS.iter().any(|secret| word.eq_ignore_ascii_case(secret)))
}

/// Option of a select box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OptionState {
    /// Value.
    pub value: String,
    /// Text that the page shows.
    pub label: String,
    /// Label of its group, empty if it is in none.
    pub group: String,
    /// Text of its content, where the page draws it by itself.
    pub text: String,
    /// `true` if it is chosen.
    pub is_selected: bool,
    /// `true` if nobody can choose it.
    pub is_disabled: bool,
}

impl OptionState {
    /// Returns its value and its label.
    pub(super) fn identity(&self) -> (&str, &str) {
        (&self.value, &self.label)
    }

    /// Returns `true` if a text with collapsed blanks is the label of its group and its own one.
    fn is_in_group(&self, text: &str) -> bool {
        !self.group.is_empty() && text == format!("{}: {}", collapse_blanks(&self.group), collapse_blanks(&self.label))
    }
}

/// Reaction of a page to a text that was entered, by the events that it got and what it changed.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own that the gate reads")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taken {
    /// `true` if it kept a key or the text from the field.
    pub is_kept: bool,
    /// `true` if it was told of a text.
    pub is_told: bool,
    /// `true` if its content outside of the field has changed.
    pub has_changed_page: bool,
}

/// State of an element.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own that the gate reads")]
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ElementState {
    /// Name of the element, in lower case.
    pub tag: String,
    /// Type of an `input`, in lower case.
    pub kind: String,
    /// `true` if it takes no input now.
    pub is_disabled: bool,
    /// `true` if its page has put it, or a part around it, out of use, as what is behind a dialog.
    pub is_inert: bool,
    /// `true` if it is not displayed at all, so that it cannot have the focus.
    pub is_undisplayed: bool,
    /// `true` if its text cannot be changed.
    pub is_read_only: bool,
    /// `true` if it is a field for text or a value.
    pub is_editable: bool,
    /// `true` if it is a slider or number that the page draws by itself, whose value changes by keys.
    pub is_stepped: bool,
    /// `true` if it is edited as a part of the page, without being a form's field.
    pub is_content_editable: bool,
    /// `true` if it has a box that is shown.
    pub is_visible: bool,
    /// `true` if a label of it is shown, as with checkboxes that a page paints itself.
    pub has_visible_label: bool,
    /// `true` if it is drawn, cannot be seen, and a label or what its page draws for it takes the pointer.
    pub has_stand_in: bool,
    /// `true` if a part of its widget may take a press for it, by listeners that a script does not see.
    pub may_have_taker: bool,
    /// `true` if a part of it may take a press for it, unless it has a listener of its own, which a script does not see.
    pub may_have_part: bool,
    /// `true` if it is a select box that nobody can see.
    pub is_unseen: bool,
    /// `true` if its page has defined its tag, so that its role and state may be known to the browser only.
    pub has_own_tag: bool,
    /// `true` if it is a field of an editor that the editor hides.
    pub is_helper: bool,
    /// Reaction of its page to the text that was entered last.
    pub taken: Taken,
    /// Markup of a checkbox, radio button or switch that the page draws by itself.
    pub look: String,
    /// `true` if its content must not be shown.
    pub is_secret: bool,
    /// `true` if it, or an element in it, has the focus.
    pub has_focus: bool,
    /// Value of a field, or text of an element that is edited.
    pub value: Option<String>,
    /// State of a checkbox, radio button or switch.
    pub is_checked: Option<bool>,
    /// `true` if it is a box that stands for several of which some are checked.
    pub is_mixed: bool,
    /// Options of a select box, and those that a field suggests.
    pub options: Vec<OptionState>,
    /// Maximum number of characters.
    pub max_length: Option<usize>,
    /// Limits and step of a range: `min`, `max`, `step`.
    pub limits: [String; 3],
    /// Point for the pointer in the viewport of its frame: x, y, in CSS pixels.
    pub point: [f64; 2],
    /// `true` if an animation may move it.
    pub is_moving: bool,
    /// `true` if all of it is in the viewport of its frame.
    pub is_in_view: bool,
    /// `true` if another element is in front of that point.
    pub is_covered: bool,
}

impl ElementState {
    /// Returns how messages name the element, such as `input type=date`.
    #[must_use]
    pub fn description(&self) -> String {
        let tag = word(&self.tag);
        if self.kind.is_empty() { tag.into_owned() } else { format!("{tag} type={}", word(&self.kind)) }
    }

    /// Returns `true` if the element is no field, but may be the label of one, or a text in that.
    #[must_use]
    pub fn is_no_field(&self) -> bool {
        let is_field = matches!(self.tag.as_str(), "input" | "select" | "textarea");
        !is_field && !self.is_editable && !self.is_content_editable && self.is_checked.is_none()
    }

    /// Returns what a refusal of a text for the element adds: nothing, unless it may show a field after a press.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        let is_plain = matches!(self.tag.as_str(), "div" | "span" | "p" | "li" | "td") || self.has_own_tag;
        let holds_nothing = self.is_no_field() && !self.is_stepped;
        if is_plain && holds_nothing { "; click it, take a snapshot, and use the field that it shows" } else { "" }
    }

    /// Returns `true` if the element is a field that suggests options.
    #[must_use]
    pub fn suggests_options(&self) -> bool {
        self.tag == "input" && !self.options.is_empty()
    }

    /// Returns the values and labels of the options that are chosen. Several options may have the same value.
    #[must_use]
    pub fn selected(&self) -> Vec<(&str, &str)> {
        self.options.iter().filter(|option| option.is_selected).map(OptionState::identity).collect()
    }

    /// Returns the place of the option that a text names.
    #[must_use]
    pub fn place(&self, text: &str) -> Option<usize> {
        let wanted = self.option(text)?;
        self.options.iter().position(|option| std::ptr::eq(option, wanted))
    }

    /// Returns the option that a text names: by its label if only one has that, else by its group and label as a snapshot shows them, by value,
    /// and else by label.
    #[must_use]
    pub fn option(&self, text: &str) -> Option<&OptionState> {
        let find = |is_it: &dyn Fn(&OptionState) -> bool| self.options.iter().find(|option| is_it(option));
        let (collapsed, words) = (collapse_blanks(text), plain(text));
        // A snapshot shows the labels: a number may be the value of another option.
        self.only_option(|option| collapse_blanks(&option.label) == collapsed)
            .or_else(|| find(&|option| option.is_in_group(&collapsed)))
            .or_else(|| find(&|option| option.value == text))
            .or_else(|| find(&|option| collapse_blanks(&option.label) == collapsed))
            .or_else(|| find(&|option| !option.text.is_empty() && collapse_blanks(&option.text) == collapsed))
            .or_else(|| self.only_option(|option| plain(&option.label) == words))
    }

    /// Returns the option for which this is true, if it is the only one.
    fn only_option(&self, is_it: impl Fn(&OptionState) -> bool) -> Option<&OptionState> {
        let mut found = self.options.iter().filter(|option| is_it(option));
        found.next().filter(|_| found.next().is_none())
    }
}

/// Returns the words of a text without the pictures around them.
fn plain(text: &str) -> String {
    let is_picture = |c: char| !c.is_ascii() && !c.is_alphanumeric();
    let words = text.split_whitespace().map(|word| word.trim_matches(is_picture));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Maximum length of a limit in a refusal, in characters.
const MAX_LIMIT: usize = 40;

/// Format of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFormat {
    /// `2011-03-21`.
    Date,
    /// `14:30`.
    Time,
    /// `2011-03-21T14:30`.
    DateTime,
    /// `2011-03`.
    Month,
    /// `2011-W12`.
    Week,
    /// `#ff8800`.
    Color,
    /// A number within limits.
    Range,
}

impl FieldFormat {
    /// Returns the format of a field, or `None` if it takes text.
    #[must_use]
    pub fn of(state: &ElementState) -> Option<Self> {
        if state.tag != "input" {
            return None;
        }
        Some(match state.kind.as_str() {
            "date" => Self::Date,
            "time" => Self::Time,
            "datetime-local" => Self::DateTime,
            "month" => Self::Month,
            "week" => Self::Week,
            "color" => Self::Color,
            "range" => Self::Range,
            _ => return None,
        })
    }

    /// Returns a description of the values that the field takes.
    #[must_use]
    pub fn hint(self, state: &ElementState) -> String {
        let text = match self {
            Self::Date => "a date field wants a date such as `2011-03-21`",
            Self::Time => "a time field wants a time such as `14:30`",
            Self::DateTime => "a date and time field wants a value such as `2011-03-21T14:30`",
            Self::Month => "a month field wants a month such as `2011-03`",
            Self::Week => "a week field wants a week such as `2011-W12`",
            Self::Color => "a color field wants a color such as `#ff8800`",
            Self::Range => "a range wants a number",
        };
        format!("{text}{}", limits(state))
    }

    /// Returns the value for the field in the browser's own spelling, or `None` if the text is in another form.
    #[must_use]
    pub fn normalize(self, text: &str) -> Option<String> {
        let text = text.trim();
        if text.is_empty() {
            return (!matches!(self, Self::Color | Self::Range)).then(String::new);
        }
        let is_valid = match self {
            Self::Date => is_date(text),
            Self::Time => is_time(text),
            Self::DateTime => text.split_once(['T', ' ']).is_some_and(|(date, time)| is_date(date) && is_time(time)),
            Self::Month => is_month(text),
            Self::Week => text.split_once("-W").is_some_and(|(year, week)| is_year(year) && is_in(week, 2, 1, 53)),
            Self::Color => text
                .strip_prefix('#')
                .is_some_and(|digits| digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())),
            Self::Range => text.parse::<f64>().is_ok_and(f64::is_finite),
        };
        is_valid.then(|| match self {
            Self::DateTime => text.replacen(' ', "T", 1),
            Self::Color => text.to_ascii_lowercase(),
            _ => text.to_owned(),
        })
    }

    /// Returns `true` if a field holds a value, which the browser may spell in another way.
    #[must_use]
    pub fn is_same(self, held: &str, wanted: &str) -> bool {
        match self {
            Self::Range => held.parse::<f64>().is_ok_and(|held| wanted.parse() == Ok(held)),
            // Seconds and fractions of zero are left out.
            Self::Time | Self::DateTime => trim_zeros(held) == trim_zeros(wanted),
            _ => held.eq_ignore_ascii_case(wanted),
        }
    }
}

/// Returns the limits of a field as the end of a hint, or an empty text.
pub(super) fn limits(state: &ElementState) -> String {
    let [min, max, step] = &state.limits;
    let part = |name: &str, value: &str| {
        let value: String = value.chars().filter(|c| c.is_ascii_graphic() && *c != '`').take(MAX_LIMIT).collect();
        if value.is_empty() { String::new() } else { format!(" {name} `{value}`") }
    };
    format!("{}{}{}", part("from", min), part("to", max), part("in steps of", step))
}

fn trim_zeros(time: &str) -> &str {
    let time = if time.contains('.') { time.trim_end_matches('0').trim_end_matches('.') } else { time };
    if time.matches(':').count() == 2 { time.strip_suffix(":00").unwrap_or(time) } else { time }
}

fn is_in(digits: &str, length: usize, min: u32, max: u32) -> bool {
    let is_number = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && digits.parse().is_ok_and(|number: u32| (min..=max).contains(&number))
}

fn is_year(year: &str) -> bool {
    is_in(year, year.len().clamp(4, 6), 1, 275_760)
}

fn is_month(text: &str) -> bool {
    text.split_once('-').is_some_and(|(year, month)| is_year(year) && is_in(month, 2, 1, 12))
}

fn is_date(text: &str) -> bool {
    let Some((month, day)) = text.rsplit_once('-') else { return false };
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok()).unwrap_or_default();
    let mut parts = month.split('-');
    let (year, of_year) = (number(parts.next()), number(parts.next()));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match of_year {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 31,
    };
    is_month(month) && is_in(day, 2, 1, days)
}

fn is_time(text: &str) -> bool {
    let (time, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = time.split(':').collect();
    let is_fraction = (1..=3).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let has_seconds = parts.len() == 3;
    match parts.as_slice() {
        [hour, minute, seconds @ ..] if seconds.len() <= 1 => {
            is_in(hour, 2, 0, 23)
                && is_in(minute, 2, 0, 59)
                && seconds.iter().all(|second| is_in(second, 2, 0, 59))
                && is_fraction
                && (has_seconds || !text.contains('.'))
        }
        _ => false,
    }
}
