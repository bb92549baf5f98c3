//! Notices of a session: what its pages did that the next answer reports.

use serde_json::{Value, json};

use browser_shell_core::decision::Decision;
use browser_shell_core::output::mask::MASK;

/// Maximum number of notices of each kind that a session keeps. A page can cause any number.
const MAX_NOTICES: usize = 16;

/// Maximum length of a text of a page, in bytes. A longer one is left out: a part of a secret would not be recognized, so that answers mask
/// the whole text before they shorten it.
const MAX_TEXT: usize = 64 * 1024;

/// Type of the dialog in which Chromium asks for a name and a password.
const AUTHENTICATION: &str = "auth";

/// Dialog that a page opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// Kind: `alert`, `confirm`, `prompt`, `beforeunload`, `auth`, `filechooser` or `permission`.
    pub kind: String,
    /// Text that the page shows in it, or the permission.
    pub message: String,
    /// Text that the page proposes as the answer to a prompt.
    pub default: String,
    /// URL of the page.
    pub url: String,
    /// Answer that it got, or how it ended; `None` while it is open.
    pub answer: Option<&'static str>,
    /// Number of the dialog, which grows with time. A dialog that the gate answers at once has none.
    pub number: Option<u64>,
}

impl Dialog {
    /// Creates a dialog.
    pub(super) fn new(kind: &str, message: &str, url: &str, answer: Option<&'static str>) -> Self {
        let (kind, message, url) = (kind.to_owned(), whole_or_mask(message), whole_or_mask(url));
        Self { kind, message, default: String::new(), url, answer, number: None }
    }

    /// Creates the dialog in which a server asks for a name and a password, which nobody answers.
    pub(super) fn login(realm: &str, origin: &str) -> Self {
        Self::new(AUTHENTICATION, realm, origin, Some("dismissed"))
    }

    /// Returns the dialog with the text that the page proposes as the answer.
    pub(super) fn with_default(self, text: &str) -> Self {
        Self { default: whole_or_mask(text), ..self }
    }

    /// Returns the dialog with what `show` makes of the texts of the page.
    #[must_use]
    pub fn shown(self, show: impl Fn(&str) -> String) -> Self {
        Self { message: show(&self.message), default: show(&self.default), url: show(&self.url), ..self }
    }

    /// Returns the dialog as the answer of a call shows it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut dialog = json!({ "type": self.kind, "message": self.message, "url": self.url });
        if let Some(members) = dialog.as_object_mut().filter(|_| !self.default.is_empty()) {
            members.insert("default".to_owned(), self.default.as_str().into());
        }
        dialog
    }
}

/// Something that a page did.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// It opened a dialog.
    Dialog(Dialog),
    /// It asked for a permission, which is the dialog's text.
    Permission(Dialog),
    /// It was about to show a document that the policy refuses.
    RefusedDocument {
        /// Decision of the policy.
        decision: Decision,
        /// True for a frame, false for the page itself.
        is_frame: bool,
    },
    /// A tab that the session does not act on has crashed and is closed.
    TabCrashed,
    /// It opened more tabs than a session may have, and they were closed.
    TooManyTabs,
    /// It offered a download, which was denied.
    Download {
        /// Name that the page proposed.
        name: String,
    },
    /// It led to an address that the browser opens in no tab.
    ClosedScheme {
        /// Scheme of the address.
        scheme: String,
    },
    /// A tab that it had opened was closed, by itself or by a page.
    TabClosed,
    /// It was kept from a link to another program.
    OtherProgram {
        /// Scheme of the link.
        scheme: String,
    },
    /// The text of a secret field was kept from being copied, cut or dragged.
    KeptSecret,
}

impl Notice {
    /// Creates the notice of a download.
    pub(super) fn download(name: &str) -> Self {
        Self::Download { name: whole_or_mask(name) }
    }

    /// Returns the number of the dialog, if the notice is of one that waited for the agent.
    pub(super) fn dialog_number(&self) -> Option<u64> {
        match self {
            Self::Dialog(dialog) => dialog.number,
            _ => None,
        }
    }

    /// Returns true if a call reports one of both only: they are questions for the same permission, or say the same.
    fn is_repeated(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Permission(first), Self::Permission(second)) => first.message == second.message,
            // The challenge of a response may be told twice, by the response and by the question that Chromium would ask for it.
            (Self::Dialog(first), Self::Dialog(second)) => {
                first.kind == AUTHENTICATION && second.kind == AUTHENTICATION && first.url == second.url
            }
            (Self::TooManyTabs, Self::TooManyTabs)
            | (Self::TabClosed, Self::TabClosed)
            | (Self::KeptSecret, Self::KeptSecret) => true,
            (Self::OtherProgram { scheme }, Self::OtherProgram { scheme: other })
            | (Self::ClosedScheme { scheme }, Self::ClosedScheme { scheme: other }) => scheme == other,
            _ => false,
        }
    }

    /// Returns true if both are counted against the same limit.
    fn is_same_kind(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::RefusedDocument { is_frame, .. }, Self::RefusedDocument { is_frame: other, .. }) => {
                is_frame == other
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// Returns a text of a page, or a mask in place of one that is too long.
fn whole_or_mask(text: &str) -> String {
    if text.len() <= MAX_TEXT { text } else { MASK }.to_owned()
}

/// Notice, and whether the call that runs now may have caused it.
#[derive(Clone, Debug)]
pub(super) struct SeenNotice {
    /// The notice.
    pub notice: Notice,
    /// True if the call may have caused it.
    pub is_new: bool,
}

/// Notices that no answer has reported yet, in the order of time.
///
/// Invariant: notices of one kind never displace those of another, so a refused document of a page itself is always reported.
#[derive(Debug, Default)]
pub(super) struct Notices(Vec<SeenNotice>);

impl Notices {
    /// Adds a notice, unless the call has an equal one that is reported once. Of too many of a kind, the oldest is dropped.
    pub(super) fn add(&mut self, notice: Notice, is_new: bool) {
        if self.0.iter().any(|seen| seen.is_new == is_new && seen.notice.is_repeated(&notice)) {
            return;
        }
        let same = |seen: &SeenNotice| seen.notice.is_same_kind(&notice);
        if self.0.iter().filter(|seen| same(seen)).count() >= MAX_NOTICES
            && let Some(oldest) = self.0.iter().position(same)
        {
            self.0.remove(oldest);
        }
        self.0.push(SeenNotice { notice, is_new });
    }

    /// Marks all notices as older than the call that begins.
    pub(super) fn set_old(&mut self) {
        self.0.iter_mut().for_each(|seen| seen.is_new = false);
    }

    /// Returns true if the call may have caused such a notice.
    pub(super) fn has_new(&self, is_wanted: impl Fn(&Notice) -> bool) -> bool {
        self.0.iter().any(|seen| seen.is_new && is_wanted(&seen.notice))
    }

    /// Removes the notice of a dialog that waited for the agent.
    pub(super) fn remove_dialog(&mut self, number: u64) {
        self.0.retain(|seen| seen.notice.dialog_number() != Some(number));
    }

    /// Returns and forgets all notices.
    pub(super) fn take(&mut self) -> Vec<SeenNotice> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use browser_shell_core::decision::Code;

    use super::*;

    fn refused(is_frame: bool) -> Notice {
        Notice::RefusedDocument { decision: Decision::new(Code::SchemeNotAllowed, "refused"), is_frame }
    }

    #[test]
    fn refused_page_is_kept_whatever_its_frames_do() {
        let mut notices = Notices::default();
        notices.add(refused(false), true);
        for number in 0..100 {
            notices.add(refused(true), true);
            notices.add(Notice::download("file"), true);
            notices.add(Notice::Dialog(Dialog::new("alert", &number.to_string(), "", Some("accepted"))), true);
        }
        let taken = notices.take();
        assert_eq!(taken[0].notice, refused(false));
        assert_eq!(taken.len(), 1 + 3 * MAX_NOTICES, "control: the others are limited");
        let messages: Vec<_> = taken
            .iter()
            .filter_map(|seen| match &seen.notice {
                Notice::Dialog(dialog) => Some(dialog.message.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(messages.last(), Some(&"99"), "the oldest are dropped");
        assert!(notices.take().is_empty());
    }

    #[test]
    fn permission_is_reported_once_in_a_call() {
        let permission = |name| Notice::Permission(Dialog::new("permission", name, "", Some("dismissed")));
        let mut notices = Notices::default();
        for _ in 0..100 {
            notices.add(permission("geolocation"), true);
        }
        notices.set_old();
        for _ in 0..100 {
            notices.add(permission("midi"), true);
            notices.add(permission("geolocation"), true);
        }
        let taken: Vec<_> = notices.take().into_iter().map(|seen| (seen.notice, seen.is_new)).collect();
        let expected = [("geolocation", false), ("midi", true), ("geolocation", true)];
        assert_eq!(taken, expected.map(|(name, is_new)| (permission(name), is_new)));
    }

    #[test]
    fn login_of_a_server_is_reported_once_in_a_call() {
        let login = |realm, origin| Notice::Dialog(Dialog::login(realm, origin));
        let alert = || Notice::Dialog(Dialog::new("alert", "a", "http://a.example", Some("accepted")));
        let mut notices = Notices::default();
        for notice in [
            login("a", "http://a.example"),
            login("b", "http://a.example"),
            login("a", "http://b.example"),
            alert(),
            alert(),
        ] {
            notices.add(notice, true);
        }
        let taken: Vec<_> = notices.take().into_iter().map(|seen| seen.notice).collect();
        // Control: other dialogs are all reported.
        let expected = [login("a", "http://a.example"), login("a", "http://b.example"), alert(), alert()];
        assert_eq!(taken, expected);
    }

    #[test]
    fn notice_of_ended_call_is_not_new() {
        let mut notices = Notices::default();
        notices.add(refused(false), true);
        notices.set_old();
        notices.add(refused(true), true);
        let is_new: Vec<_> = notices.take().iter().map(|seen| seen.is_new).collect();
        assert_eq!(is_new, [false, true]);
    }
}
