//! Permission for an act that a client was told of before its element was found.
//!
//! The client may look for the element as soon as that gets its mark, because this takes as long as the gate's own look at it. What the
//! client does then waits until the act is allowed.
//!
//! Invariant: a client that was told of an act gives a page no input for it before the act is allowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use browser_shell_core::element::Verb;
use browser_shell_core::gate::ClientMessage;
use tokio::sync::watch;

/// Method by which clients look for an element.
const LOOK: &str = "Runtime.evaluate";

/// Progress of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Its element has no mark.
    Announced,
    /// The commands by which its element gets its mark were sent to Chromium.
    Marked,
    /// The client was let look for the element.
    Seen,
    /// The client has looked, and the element may have changed since.
    Outdated,
    /// It is allowed.
    Allowed,
    /// It will never be allowed.
    Canceled,
    /// It is over: the client does nothing about it any more.
    Ended,
}

/// Permission for an act, shared by who gives it and by the clients that wait for it.
#[derive(Debug)]
pub(super) struct ActPermission {
    /// Name of the mark by which clients know the element.
    mark: String,
    verb: Verb,
    progress: watch::Sender<Progress>,
    /// Number of commands with which the act may have been done.
    done: watch::Sender<u64>,
    /// True if the client has done more than look for the element.
    has_acted: AtomicBool,
}

/// Command that waits for the permission.
pub(super) enum Awaiting {
    /// A look for the element.
    Look(Arc<ActPermission>),
    /// Anything else.
    Act(Arc<ActPermission>),
}

/// Command with which an act may be done. More can follow, which only agent-browser knows.
pub(super) enum LastCommand {
    /// It is done by the script that Chromium gets: what is sent behind it runs behind it.
    Sent(Arc<ActPermission>),
    /// It is done when Chromium answers.
    Answered(Arc<ActPermission>),
}

impl LastCommand {
    /// Returns what a command means for an act of the native agent-browser.
    pub(super) fn of(act: &Arc<ActPermission>, method: &str, params: Option<&str>) -> Option<Self> {
        if act.progress() != Progress::Allowed {
            return None;
        }
        let contains = |text: &str| params.is_some_and(|params| params.contains(text));
        let is_look = method == LOOK && contains(&act.mark);
        let is_release = method == "Input.dispatchMouseEvent" && contains("mouseReleased");
        act.has_acted.fetch_or(!is_look, Ordering::Relaxed);
        match (act.verb, method) {
            (Verb::Focus | Verb::Select, "Runtime.callFunctionOn") | (Verb::Fill, "Input.insertText") => {
                Some(Self::Sent(act.clone()))
            }
            (Verb::Click | Verb::DoubleClick, _) if is_release => Some(Self::Answered(act.clone())),
            (Verb::Hover, "Input.dispatchMouseEvent") => Some(Self::Answered(act.clone())),
            _ => None,
        }
    }
}

impl ActPermission {
    /// Announces an act on the element with a mark.
    pub(super) fn new(mark: &str, verb: Verb) -> Self {
        let (progress, done) = (watch::Sender::new(Progress::Announced), watch::Sender::new(0));
        Self { mark: mark.to_owned(), verb, progress, done, has_acted: AtomicBool::new(false) }
    }

    /// Returns true if the client has done more than look for the element.
    pub(super) fn has_acted(&self) -> bool {
        self.has_acted.load(Ordering::Relaxed)
    }

    /// Takes that the act may be done.
    pub(super) fn set_done(&self) {
        self.done.send_modify(|count| *count += 1);
    }

    /// Returns the number of commands with which the act may have been done, which grows.
    pub(super) fn watch_done(&self) -> watch::Receiver<u64> {
        self.done.subscribe()
    }

    fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    /// Changes the progress, if there is a next one.
    fn advance(&self, mut next: impl FnMut(Progress) -> Option<Progress>) {
        self.progress.send_if_modified(|progress| {
            let next = next(*progress);
            *progress = next.unwrap_or(*progress);
            next.is_some()
        });
    }

    /// Returns the name of the mark.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// Takes that the commands by which an element gets the mark were sent to Chromium. Another element than the one that the client
    /// has seen makes that outdated.
    pub(super) fn set_marked(&self) {
        self.advance(|progress| match progress {
            Progress::Announced => Some(Progress::Marked),
            Progress::Seen => Some(Progress::Outdated),
            _ => None,
        });
    }

    /// Takes that the element is not any more where and what it was when it got the mark.
    pub(super) fn set_changed(&self) {
        self.advance(|progress| match progress {
            Progress::Marked => Some(Progress::Announced),
            Progress::Seen => Some(Progress::Outdated),
            _ => None,
        });
    }

    /// Returns true if the client has seen something that may no longer be true, so that the act cannot be allowed.
    pub(super) fn is_outdated(&self) -> bool {
        self.progress() == Progress::Outdated
    }

    /// Allows the act. Returns false if it cannot be.
    pub(super) fn allow(&self) -> bool {
        self.advance(|progress| match progress {
            Progress::Announced | Progress::Marked | Progress::Seen => Some(Progress::Allowed),
            _ => None,
        });
        self.progress() == Progress::Allowed
    }

    /// Has all commands for the act refused that are not sent on yet.
    pub(super) fn cancel(&self) {
        self.advance(|progress| match progress {
            Progress::Allowed | Progress::Ended => None,
            _ => Some(Progress::Canceled),
        });
    }

    /// Takes that no command for the act follows, so that others of the client are not taken for one.
    pub(super) fn end(&self) {
        self.advance(|progress| match progress {
            Progress::Allowed => None,
            _ => Some(Progress::Ended),
        });
    }

    /// Returns true if commands that do not name the mark need no permission.
    fn is_decided(&self) -> bool {
        matches!(self.progress(), Progress::Allowed | Progress::Ended)
    }

    /// Waits until the client may look for the element. Returns false if it never may.
    async fn is_look_allowed(&self) -> bool {
        let mut progress = self.progress.subscribe();
        loop {
            if progress.wait_for(|progress| *progress != Progress::Announced).await.is_err() {
                return false;
            }
            let mut answer = None;
            // It may have changed since.
            self.advance(|progress| {
                answer = (progress != Progress::Announced)
                    .then_some(!matches!(progress, Progress::Canceled | Progress::Ended));
                (progress == Progress::Marked).then_some(Progress::Seen)
            });
            if let Some(answer) = answer {
                return answer;
            }
        }
    }

    /// Waits until the act is allowed. Returns false if it never is.
    async fn is_act_allowed(&self) -> bool {
        let decided = [Progress::Allowed, Progress::Canceled, Progress::Ended];
        let mut progress = self.progress.subscribe();
        let known = progress.wait_for(|progress| decided.contains(progress)).await;
        known.is_ok_and(|known| *known == Progress::Allowed)
    }
}

impl Awaiting {
    /// Returns what a command waits for that names the mark of an act, unless it is allowed.
    pub(super) fn about(act: &Arc<ActPermission>, message: &str) -> Option<Self> {
        if act.progress() == Progress::Allowed || !message.contains(&act.mark) {
            return None;
        }
        let is_look = ClientMessage::parse(message).is_ok_and(|message| message.method == LOOK);
        Some(if is_look { Self::Look(act.clone()) } else { Self::Act(act.clone()) })
    }

    /// Returns what a command of a client waits for that has looked for the element of an act. Those to the browser itself do not.
    pub(super) fn after_look(act: &Arc<ActPermission>, message: &str) -> Option<Self> {
        let is_of_page = || ClientMessage::parse(message).is_ok_and(|message| message.session_id.is_some());
        (!act.is_decided() && is_of_page()).then(|| Self::Act(act.clone()))
    }

    /// Returns the act, if the command is a look.
    pub(super) const fn look(&self) -> Option<&Arc<ActPermission>> {
        match self {
            Self::Look(act) => Some(act),
            Self::Act(_) => None,
        }
    }

    /// Waits until Chromium may get the command. Returns false if it never may.
    pub(super) async fn is_allowed(&self) -> bool {
        match self {
            Self::Look(act) => act.is_look_allowed().await,
            Self::Act(act) => act.is_act_allowed().await,
        }
    }
}
