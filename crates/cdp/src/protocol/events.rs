//! Events that the program reads, by the debugging session that they come over.

use super::command::{Described, Nothing, events};
use super::network::{AuthRequired, LoadingEnded, RequestPaused, RequestWillBeSent, ResponseReceived};
use super::page::{
    DownloadWillBegin, FileChooserOpened, FrameDetached, FrameEvent, FrameNavigated, JavascriptDialogOpening,
    NavigationAsked, ScreencastFrame, WindowOpen,
};
use super::runtime::BindingCalled;
use super::target::{AttachedToTarget, DetachedFromTarget, EndedTarget, TargetInfoChanged};

events! {
    /// Event of the browser itself.
    enum BrowserEvent {
        "Fetch.requestPaused" => RequestPaused(RequestPaused),
        "Target.attachedToTarget" => AttachedToTarget(AttachedToTarget),
        "Target.detachedFromTarget" => DetachedFromTarget(DetachedFromTarget),
        "Target.targetDestroyed" => TargetDestroyed(EndedTarget),
        "Target.targetCrashed" => TargetCrashed(EndedTarget),
        "Target.targetInfoChanged" => TargetInfoChanged(TargetInfoChanged),
    }
}

events! {
    /// Event of one of the gate's own sessions on tabs and frames.
    enum TabEvent {
        "Fetch.requestPaused" => RequestPaused(RequestPaused),
        "Fetch.authRequired" => AuthRequired(AuthRequired),
        "Page.javascriptDialogOpening" => JavascriptDialogOpening(JavascriptDialogOpening),
        "Page.javascriptDialogClosed" => JavascriptDialogClosed(Nothing),
        "Page.fileChooserOpened" => FileChooserOpened(FileChooserOpened),
        "Page.frameNavigated" => FrameNavigated(FrameNavigated),
        "Page.navigatedWithinDocument" => NavigatedWithinDocument(FrameEvent),
        "Page.domContentEventFired" => DomContentEventFired(Nothing),
        "Page.frameStoppedLoading" => FrameStoppedLoading(FrameEvent),
        "Page.frameRequestedNavigation" => FrameRequestedNavigation(NavigationAsked),
        "Page.frameScheduledNavigation" => FrameScheduledNavigation(NavigationAsked),
        "Page.windowOpen" => WindowOpen(WindowOpen),
        "Page.frameDetached" => FrameDetached(FrameDetached),
        "Page.downloadWillBegin" => DownloadWillBegin(DownloadWillBegin),
        "Inspector.targetCrashed" => TargetCrashed(Nothing),
        "Inspector.targetReloadedAfterCrash" => TargetReloadedAfterCrash(Nothing),
        "Network.requestWillBeSent" => RequestWillBeSent(RequestWillBeSent),
        "Network.responseReceived" => ResponseReceived(ResponseReceived),
        "Network.loadingFinished" => LoadingFinished(LoadingEnded),
        "Network.loadingFailed" => LoadingFailed(LoadingEnded),
        "Runtime.bindingCalled" => BindingCalled(BindingCalled),
        "Target.attachedToTarget" => AttachedToTarget(AttachedToTarget),
        "Target.detachedFromTarget" => DetachedFromTarget(DetachedFromTarget),
    }
}

events! {
    /// Event of a viewer's session on the page that it sees.
    enum CastEvent {
        "Page.screencastFrame" => ScreencastFrame(ScreencastFrame),
    }
}

/// Returns all events.
pub(super) fn described() -> Vec<Described> {
    [BrowserEvent::described(), TabEvent::described(), CastEvent::described()].into_iter().flatten().collect()
}
