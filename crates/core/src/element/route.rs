//! Choice of who carries out an act: agent-browser, or the gate where a version of agent-browser cannot.

use super::act::{Reading, Verb};
use super::format::FieldFormat;
use super::state::ElementState;
use crate::gate::Client;

/// Place of an element in its tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// `true` in a frame.
    pub is_in_frame: bool,
    /// `true` if it, or a frame that it is in, is in a shadow tree.
    pub is_in_shadow_tree: bool,
    /// `true` if one of these trees is closed.
    pub is_in_closed_tree: bool,
}

/// Program that carries out an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// agent-browser, on a mark.
    AgentBrowser,
    /// The gate, over its own debugging session.
    Gate,
}

/// Returns who carries out an act on an element.
#[must_use]
pub fn actor(client: Client, verb: Verb, place: Place, state: &ElementState) -> Actor {
    let is_unreachable = match client {
        // It finds elements in open shadow trees. In frames it waits in vain for an element that the gate has marked.
        Client::Node => place.is_in_closed_tree || place.is_in_frame,
        // It finds elements of the page's own document only.
        Client::Native => place.is_in_shadow_tree || place.is_in_frame,
    };
    let has_format = verb == Verb::Fill && FieldFormat::of(state).is_some();
    // Every version does these in another way, or not at all. A drag by agent-browser jumps, and sorts no list. A box that is not checked
    // at once is pressed a second time by one version, and one that the page has replaced by then is missing for both.
    let is_own = matches!(
        verb,
        Verb::Check | Verb::Uncheck | Verb::Drag | Verb::ScrollIntoView | Verb::SelectText | Verb::Read(Reading::Value)
    );
    let is_wrong = match (client, verb) {
        // It types without key events.
        (Client::Native, Verb::Type) => true,
        // It puts the cursor before the text of an editor, and types into another element if this one cannot have the focus.
        (Client::Node, Verb::Type) => !state.is_editable,
        // It appends to the text of an editor.
        (Client::Native, Verb::Fill) => state.is_content_editable,
        _ => false,
    };
    // Something covers the middle of its box, such as the text between the lines of a link, or it has no box.
    let is_beside_middle = verb.uses_pointer() && !state.takes_middle;
    if is_unreachable || is_beside_middle || has_format || is_own || is_wrong {
        Actor::Gate
    } else {
        Actor::AgentBrowser
    }
}
