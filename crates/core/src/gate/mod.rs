//! Rules of the control gate: which messages of Chromium's debugging protocol a session's agent-browser may send, and which it gets.
//!
//! Chromium takes root methods on the sessions of pages too, so the rules hold at every level. A method that no rule names is
//! refused, and an event that no rule names is withheld, until someone has read what it does.
//!
//! Invariants: what is forwarded is built from parsed values, never from the text that was received; a root method is answered
//! or rewritten by the gate and never forwarded as sent.

mod chromium_json;
mod document;
mod events;
mod message;
mod methods;
mod params;
mod reports;

#[cfg(test)]
mod tests;

pub use chromium_json::{parse_params, read_chromium};
pub use document::{DocumentUrl, classify_url, is_pdf_viewer};
pub use events::{EventHandling, EventRule, classify_event, event_rules, filter_network};
pub use message::{ClientMessage, MAX_MESSAGE, MessageError};
pub use methods::{Handling, Level, MethodRule, classify, is_act, is_setup, rules};
pub use params::{
    AutoAttach, Detachment, Discovery, DragEvent, HistoryEntryParams, KeyEvent, MouseEvent, NamedTarget, Navigation,
    NewTarget, PictureParams, StreamUse, TextInput, read_params, write_params,
};
pub use reports::{KEPT_SECRET, PageReport, Permission, report_script};
