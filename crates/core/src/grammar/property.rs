//! Commands that read a property of the element that another command acts on.

use super::command::Command;
use super::plan::step;

/// Property of an element that agent-browser reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// Value of a field.
    Value,
    /// Text that the page shows.
    Text,
    /// HTML of the content.
    Html,
    /// Visibility.
    IsVisible,
    /// State of a checkbox.
    IsChecked,
    /// An attribute.
    Attribute(&'static str),
}

impl Property {
    /// Returns the member of the answer that has the property.
    #[must_use]
    pub const fn member(self) -> &'static str {
        match self {
            Self::Value | Self::Attribute(_) => "value",
            Self::Text => "text",
            Self::Html => "html",
            Self::IsVisible => "visible",
            Self::IsChecked => "checked",
        }
    }
}

impl Command {
    /// Returns the command that reads a property of the element that this one acts on. The policy need not enable it.
    #[must_use]
    pub fn to_read(&self, property: Property) -> Option<Self> {
        let selector = self.selectors().next()?;
        match property {
            Property::Value => step("get", Some("value"), &[selector]),
            Property::Text => step("get", Some("text"), &[selector]),
            Property::Html => step("get", Some("html"), &[selector]),
            Property::IsVisible => step("is", Some("visible"), &[selector]),
            Property::IsChecked => step("is", Some("checked"), &[selector]),
            Property::Attribute(name) => step("get", Some("attr"), &[selector, name]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Profile, parse};

    #[test]
    fn property_is_read_of_the_same_element() {
        let argv = ["fill", "@e1", "text"].map(str::to_owned);
        let command = parse(Profile::Tool, &argv, |_| false).expect("accepted");
        let read = |property| command.to_read(property).expect("a command").to_argv().join(" ");
        assert_eq!(read(Property::Value), "get value @e1");
        assert_eq!(read(Property::IsChecked), "is checked @e1");
        assert_eq!(read(Property::Attribute("type")), "get attr @e1 type");
    }
}
