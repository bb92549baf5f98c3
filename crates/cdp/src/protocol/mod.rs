//! Commands that the program sends to Chromium and events that it reads, as types: one file for each part of the protocol,
//! and the events here, by the debugging session that they come over.
//!
//! The types have only the members that are sent or read. `tests/it/cdp_types.rs` compares them with Chromium's own description of
//! the protocol. What a client of the gate sends is passed on as it is, and has no types here.

#![allow(missing_docs, reason = "the protocol's own documentation describes its commands, types and members")]
#![allow(clippy::enum_variant_names, clippy::struct_field_names, reason = "the names are those of the protocol")]

pub mod browser;
mod command;
pub mod dom;
pub mod input;
pub mod network;
pub mod page;
pub mod runtime;
pub mod target;

use command::events;
use network::{AuthRequired, LoadingEnded, RequestPaused, RequestWillBeSent, ResponseReceived};
use page::{
    DownloadWillBegin, FileChooserOpened, FrameDetached, FrameEvent, FrameNavigated, JavascriptDialogOpening,
    NavigationAsked, ScreencastFrame, WindowOpen,
};
use runtime::BindingCalled;
use target::{AttachedToTarget, DetachedFromTarget, EndedTarget, TargetInfoChanged};

pub(crate) use command::Nothing;
pub use command::{
    BackendNodeId, BrowserContextId, CdpCommand, DebugSessionId, Described, ExecutionContextId, FetchRequestId,
    FrameId, LoaderId, NetworkRequestId, NodeId, RemoteObjectId, TargetId, WindowId, read_params,
};

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

/// Returns all commands and events, for the comparison with Chromium.
#[must_use]
pub fn described() -> Vec<Described> {
    let domains = [
        browser::described(),
        dom::described(),
        input::described(),
        network::described(),
        page::described(),
        runtime::described(),
        target::described(),
        BrowserEvent::described(),
        TabEvent::described(),
        CastEvent::described(),
    ];
    domains.into_iter().flatten().collect()
}
