//! Answers and events of Chromium for a client.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use browser_shell_core::gate::{EventHandling, Level, classify_event, filter_network, parse_params};

use crate::gateway::client::connection::{ClientConnection, MAX_STREAMS, Owned, push_session};
use browser_shell_browser::gate::scope::Denied;
use browser_shell_cdp::protocol::network::CloseStream;
use browser_shell_cdp::protocol::target::{AttachedToTarget, DetachedFromTarget, TargetKind};
use browser_shell_cdp::protocol::{DebugSessionId, read_params};
use browser_shell_cdp::{Answer, Event, Receiver};

impl ClientConnection {
    /// Takes a frame or worker that Chromium attached the client to. Returns false if the client must not know it.
    fn take_child(&self, parent: &DebugSessionId, attached: &AttachedToTarget) -> bool {
        let Some(owned) = self.state().sessions.get(parent).cloned() else { return false };
        let AttachedToTarget { session_id: session, target_info: info } = attached;
        let level = match info.kind {
            TargetKind::Iframe => Some(Level::Frame),
            TargetKind::Worker => Some(Level::Worker),
            _ => None,
        };
        // Chromium's viewer has rights that no site has.
        let level = level.filter(|_| !owned.page.is_in_pdf(info));
        let context = info.browser_context_id.as_ref();
        let level = level.filter(|_| context.is_none_or(|context| *context == owned.page.context));
        let (Some(level), Some(client), true) = (level, self.me.upgrade(), self.state().has_room()) else {
            self.notify_detach(Some(parent), session);
            return false;
        };
        let receiver: Arc<dyn Receiver> = client;
        self.browser.connection.add_session(session, &receiver);
        let target = info.target_id.clone();
        let child = Owned { level, page: owned.page, target, parent: Some(parent.clone()) };
        self.state().sessions.insert(session.clone(), child);
        if self.stop.is_cancelled() {
            self.forget_session(session);
            return false;
        }
        true
    }

    /// Takes the end of a session that was attached over another one. Returns false if the client does not know it.
    fn take_end_of_child(&self, parent: &DebugSessionId, child: &DebugSessionId) -> bool {
        let owned = self.state().sessions.get(child).cloned();
        owned.is_some_and(|owned| owned.parent.as_ref() == Some(parent)) && self.forget_session(child)
    }

    /// Ends the client's session on a frame whose process has ended. A client would take such an event for the end of the tab.
    fn end_crashed_frame(&self, session: &DebugSessionId, frame: &Owned) {
        let Some(parent) = &frame.parent else { return };
        if !self.forget_session(session) {
            return;
        }
        self.notify_detach(Some(parent), session);
        let params = json!({ "sessionId": session, "targetId": frame.target });
        let event = json!({ "method": "Target.detachedFromTarget", "params": params, "sessionId": parent });
        self.push(event.to_string());
    }

    /// Gives the handle in an answer to the client, or closes it if the client has too many.
    fn take_stream(&self, session: Option<&DebugSessionId>, result: &RawValue) {
        let result = parse_params(Some(result));
        let Some(handle) = result.get("stream").and_then(Value::as_str) else { return };
        let is_taken = {
            let mut state = self.state();
            state.streams.len() < MAX_STREAMS && state.streams.insert(handle.to_owned())
        };
        if !is_taken {
            self.browser.connection.notify(session, &CloseStream { handle });
        }
    }
}

impl Receiver for ClientConnection {
    fn answer(&self, tag: u64, answer: Answer<'_>) {
        let Some(pending) = self.state().pending.remove(&tag) else { return };
        let (name, raw) = match answer {
            Answer::Result(result) => ("result", result),
            Answer::Error(error) => ("error", error),
        };
        if let (true, Answer::Result(result)) = (pending.opens_stream, answer) {
            self.take_stream(pending.session.as_ref(), result);
        }
        let mut message = format!(r#"{{"id":{},"{name}":{}"#, pending.id, raw.get());
        push_session(&mut message, pending.session.as_ref());
        self.push(message);
    }

    fn event(&self, event: Event<'_>) {
        let Some(session) = event.session else { return };
        let Some(owned) = self.state().sessions.get(session).cloned() else { return };
        let handling = classify_event(owned.level, event.method);
        let is_sent = match handling {
            Some(EventHandling::Forward | EventHandling::Network) => true,
            Some(EventHandling::Attached) => {
                read_params(event.method, event.params).is_some_and(|attached| self.take_child(session, &attached))
            }
            Some(EventHandling::Detached) => read_params(event.method, event.params)
                .is_some_and(|detached: DetachedFromTarget| self.take_end_of_child(session, &detached.session_id)),
            Some(EventHandling::FrameCrash) => return self.end_crashed_frame(session, &owned),
            Some(EventHandling::OwnOnly | EventHandling::Withhold) => false,
            None => {
                if let Some(gate) = self.session.upgrade() {
                    gate.count_refusal(owned.level, Denied::Event(event.method));
                }
                false
            }
        };
        if !is_sent {
            return;
        }
        let filtered =
            (handling == Some(EventHandling::Network)).then(|| filter_network(parse_params(event.params)).to_string());
        let params = filtered.as_deref().or(event.params.map(RawValue::get)).unwrap_or("{}");
        let mut message = format!(r#"{{"method":{},"params":{params}"#, Value::from(event.method));
        push_session(&mut message, Some(session));
        self.push(message);
    }
}
