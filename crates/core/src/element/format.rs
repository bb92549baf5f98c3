//! Formats of fields whose value is no free text: dates, times, colors, numbers and ranges.
//!
//! The browser discards a value in another form without a message, so it is checked first.

use super::state::ElementState;

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
