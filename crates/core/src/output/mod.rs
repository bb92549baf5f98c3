//! Output of agent-browser: parsing, normalization, masking and truncation.
//!
//! Requirements 1.6, 1.7 and 1.8. [`CommandResult::parse`] parses [`RawOutput`]; the [`Body`] of the result is masked
//! and rendered.

mod body;
mod escape;
mod failure;
pub mod mask;
mod normalize;
mod page_text;
mod plain_reply;
mod raw;
mod result;
mod stack;
mod tabs;
mod text_reply;
pub mod truncate;

pub use body::Body;
pub use escape::{escape_for_log, escape_for_terminal, escape_json};
pub use failure::{LOGIN_ERRORS, login_required};
pub(crate) use page_text::begin_in_words;
pub use page_text::{address, collapse_blanks, indented, quoted, word};
pub use plain_reply::{DOUBT, is_content, render_plain};
pub use raw::{CapturedStream, RawOutput};
pub use result::CommandResult;
pub use tabs::{LAST_TAB_STAYS, missing_tab};
pub use text_reply::{render_envelope, render_text};
