//! Text of selector chains, as refusals show them.

use std::fmt;

use super::chain::{SelectorChain, SelectorPart, TextMatch};
use super::quoted;
use super::role::{NameOperator, RoleMatch, RoleState, StateValue};

impl fmt::Display for SelectorChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, part) in self.parts.iter().enumerate() {
            if position > 0 {
                f.write_str(" >> ")?;
            }
            match part {
                SelectorPart::Css(selectors) => f.write_str(&selectors.join(" >> "))?,
                SelectorPart::Text(TextMatch::Contains(text)) => write!(f, "text={text}")?,
                SelectorPart::Text(TextMatch::Exact(text)) => {
                    f.write_str("text=")?;
                    quoted::write(text, f)?;
                }
                SelectorPart::Role(role) => write!(f, "{role}")?,
                SelectorPart::Nth(number) => write!(f, "nth={number}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for RoleMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "role={}", self.role)?;
        for name in &self.names {
            let sign =
                NameOperator::ALL.iter().find(|(known, _)| *known == name.operator).map_or("=", |(_, sign)| sign);
            write!(f, "[name{sign}")?;
            quoted::write(&name.text, f)?;
            f.write_str(if name.ignores_case { "i]" } else { "]" })?;
        }
        for condition in &self.states {
            let name = RoleState::ALL.iter().find(|(known, _)| *known == condition.state).map_or("", |(_, name)| name);
            match condition.value {
                StateValue::True => write!(f, "[{name}]")?,
                StateValue::False => write!(f, "[{name}=false]")?,
                StateValue::Mixed => write!(f, "[{name}=mixed]")?,
                StateValue::Number(number) => write!(f, "[{name}={number}]")?,
            }
        }
        Ok(())
    }
}
