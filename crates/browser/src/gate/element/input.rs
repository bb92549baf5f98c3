//! Input that the gate itself gives a page, as a person's pointer and keyboard do, and presses of the pointer that reach their element or
//! nothing.
//!
//! An element was uncovered when the gate looked at it. Until the pointer is pressed, the page may move it, or put something in front of it.
//! Its document then keeps the press from what it would reach, and says so.

use std::time::{Duration, Instant};

use browser_shell_core::decision::Decision;
use browser_shell_core::element::{Act, Button, NamedElement, Press, covered, not_sent};
use browser_shell_core::keyboard::{Chord, Key};
use futures::future::{join_all, try_join_all};

use crate::gate::browser::Browser;
use crate::gate::element::find::{evaluate, evaluate_promise};
use crate::gate::element::handle::{ElementHandle, ElementView};
use crate::gate::element::kept::with_kept;
use crate::gate::element::located::{ElementError, Located, in_world, world};
use crate::gate::element::script::{
    AFTER_PRESS, MISSED_PRESS, OUTSIDE, REFUSED_FIELDS, RELEASE_SCREEN, WATCH_FORMS, WATCH_PRESS, refused_field,
};
use crate::gate::page::{Page, Release, World};
use crate::gate::scope::ClientScope as _;
use crate::gate::session::GateSession;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::CdpCommand;
use browser_shell_cdp::protocol::input::{
    DispatchKeyEvent, DispatchMouseEvent, InsertText, MouseButton, MouseEventType,
};
use browser_shell_cdp::protocol::{DebugSessionId, FrameId};

/// Length of the last step of a pointer that comes to an element, in CSS pixels.
const HOVER_STEP: f64 = 2.0;

/// Time for an element to come back under a pointer that it has moved away from.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// Least number of looks at it in that time, since a busy machine draws few pictures of it.
const SETTLE_LOOKS: u32 = 20;

/// Interval between two looks at it.
const INTERVAL: Duration = Duration::from_millis(50);

/// Doubt about a press of which the page got the begin only.
const LOST_CLICK: &str = "the page got the press but no click, because the element changed under the pointer";

/// Doubt about a press of which the page got nothing.
const NO_PRESS: &str = "the page got no press: a frame or a window of the browser may be in front of the element";

/// Maximum number of frames in which keys are watched.
const MAX_FRAMES: usize = 20;

/// Document in which a key may have an effect.
struct KeyedDocument {
    /// Session on its process, and its frame.
    place: (DebugSessionId, FrameId),
    world: World,
}

/// Keyboard and pointer of a tab.
#[derive(Clone, Copy)]
struct InputSender<'a> {
    browser: &'a Browser,
    page: &'a Page,
}

/// Keys or buttons that are held until this ends. If the call ends before, they are released without waiting for it.
pub(super) struct Held<'a> {
    tab: InputSender<'a>,
    /// Input that releases them, that of the last one last.
    releases: Vec<Release>,
}

impl Held<'_> {
    /// Releases all of them. All events are sent at once, so that a call that ends meanwhile leaves none pressed.
    pub(super) async fn end(mut self) -> Result<(), ElementError> {
        let (tab, releases) = (self.tab, std::mem::take(&mut self.releases));
        try_join_all(releases.iter().rev().map(|release| tab.release(release))).await.map(drop)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for release in self.releases.drain(..).rev() {
            self.tab.release_without_waiting(release);
        }
    }
}

impl InputSender<'_> {
    async fn send(self, input: &impl CdpCommand) -> Result<(), CommandError> {
        self.browser
            .connection
            .send_within(ElementHandle::INPUT_TIMEOUT, Some(&self.page.session), input)
            .await
            .map(drop)
    }

    async fn mouse(self, event: &DispatchMouseEvent) -> Result<(), ElementError> {
        match self.send(event).await {
            // Input that ends its page has no answer.
            Err(CommandError::Refused { .. }) => Ok(()),
            sent => Ok(sent?),
        }
    }

    async fn release(self, release: &Release) -> Result<(), ElementError> {
        match release {
            Release::Button(event) => self.mouse(event).await,
            Release::Key { key, modifiers } => Ok(self.send(&DispatchKeyEvent::of(false, key, *modifiers)).await?),
        }
    }

    /// Sends input that releases something, without waiting for it. Chromium drops input for a tab with a dialog, so it follows that.
    fn release_without_waiting(self, release: Release) {
        if let Some(release) = self.page.keep_during_dialog(release) {
            release.notify(&self.browser.connection, &self.page.session);
        }
    }

    /// Moves the pointer to a point of the tab while modifiers are held.
    async fn hover_at(self, point: (f64, f64), modifiers: u32) -> Result<(), ElementError> {
        self.mouse(&DispatchMouseEvent { modifiers, ..DispatchMouseEvent::at(MouseEventType::MouseMoved, point) }).await
    }

    /// Types a text key by key into what has the focus. What no keyboard has is entered as an input method does.
    async fn type_keys(&self, text: &str, gate: &GateSession) -> Result<(), ElementError> {
        for character in text.chars() {
            // The page may answer the last one with a dialog, and then nobody gets an answer to it.
            gate.note_sent();
            match Key::typing(character) {
                Some(key) => self.press(&Chord { modifiers: Vec::new(), key }).await?,
                None => self.send(&InsertText { text: character.encode_utf8(&mut [0; 4]) }).await?,
            }
        }
        Ok(())
    }

    /// Presses a key, with its modifiers, and releases all of them.
    async fn press(&self, Chord { modifiers, key }: &Chord) -> Result<(), ElementError> {
        let mut events = Vec::new();
        let mut bits = 0;
        let modifiers: Vec<_> = modifiers.iter().map(|modifier| (modifier.bit(), modifier.key())).collect();
        for (bit, modifier) in &modifiers {
            bits |= bit;
            events.push(DispatchKeyEvent::of(true, modifier, bits));
        }
        // A modifier holds while it is pressed itself.
        events.push(DispatchKeyEvent::of(true, key, bits | key.modifier_bit()));
        events.push(DispatchKeyEvent::of(false, key, bits));
        for (bit, modifier) in modifiers.iter().rev() {
            bits &= !bit;
            events.push(DispatchKeyEvent::of(false, modifier, bits));
        }
        // All are sent at once, and Chromium handles one after the other: a call that ends meanwhile leaves no key pressed. The next key
        // waits for them: the page may have gone by then.
        try_join_all(events.iter().map(|event| self.send(event))).await?;
        Ok(())
    }
}

impl ElementHandle {
    fn tab(&self) -> InputSender<'_> {
        InputSender { browser: &self.element.browser, page: &self.element.page }
    }

    /// Sends input to the tab, which gives it to the frame that it is for.
    pub(super) async fn input(&self, input: &impl CdpCommand) -> Result<(), ElementError> {
        Ok(self.tab().send(input).await?)
    }

    /// Moves the pointer to a point of the tab while modifiers are held.
    pub(super) async fn hover_at(&self, point: (f64, f64), modifiers: u32) -> Result<(), ElementError> {
        self.tab().hover_at(point, modifiers).await
    }

    /// Moves the pointer to a point of the element, and always from elsewhere, because a page may have hidden again what it showed there. A
    /// pointer that is on the element leaves it first. It arrives in two steps, as pages that look for movement need.
    pub(super) async fn hover(&self, (x, y): (f64, f64)) -> Result<(), ElementError> {
        if let Some(outside) = self.element.call(&with_kept(OUTSIDE), &[]).await? {
            self.hover_at(self.to_tab(outside).await?, 0).await?;
        }
        self.hover_at((x - HOVER_STEP, y), 0).await?;
        self.hover_at((x, y), 0).await
    }

    /// Moves the pointer with the left button pressed.
    pub(super) async fn press_at(&self, point: (f64, f64)) -> Result<(), ElementError> {
        self.button_at(MouseEventType::MouseMoved, point, 0).await
    }

    /// Presses or releases the left button of the pointer for the click with this number, or moves it while it is pressed.
    pub(super) async fn button_at(
        &self,
        kind: MouseEventType,
        point: (f64, f64),
        count: u32,
    ) -> Result<(), ElementError> {
        self.tab().mouse(&button_event(kind, Button::Left, point, count, 0)).await
    }

    /// Releases the left button at a point to which the pointer goes back, without waiting for it.
    pub(super) fn release_without_waiting(&self, point: (f64, f64)) {
        for kind in [MouseEventType::MouseMoved, MouseEventType::MouseReleased] {
            self.tab().release_without_waiting(Release::Button(button_event(kind, Button::Left, point, 1, 0)));
        }
    }

    /// Holds the modifiers of a press. Returns them also as the bits of an event.
    pub(super) async fn hold_modifiers(&self, press: &Press) -> Result<(Held<'_>, u32), ElementError> {
        let mut keys = Held { tab: self.tab(), releases: Vec::new() };
        let mut bits = 0;
        for modifier in &press.modifiers {
            let (key, before) = (modifier.key(), bits);
            bits |= modifier.bit();
            keys.releases.push(Release::Key { key: key.clone(), modifiers: before });
            keys.tab.send(&DispatchKeyEvent::of(true, &key, bits)).await?;
        }
        Ok((keys, bits))
    }

    /// Clicks at a point of the tab, once or twice, while modifiers are held.
    pub(super) async fn click_at(
        &self,
        point: (f64, f64),
        press: &Press,
        bits: u32,
        times: u32,
    ) -> Result<(), ElementError> {
        let tab = self.tab();
        tab.hover_at(point, bits).await?;
        for count in 1..=times {
            let [down, up] = [MouseEventType::MousePressed, MouseEventType::MouseReleased]
                .map(|kind| button_event(kind, press.button, point, count, bits));
            self.gate.note_sent();
            if press.hold.is_zero() {
                // Chromium handles one after the other. A dialog that the first opens must not keep the second from being sent.
                let (pressed, released) = tokio::join!(biased; tab.mouse(&down), tab.mouse(&up));
                pressed.and(released)?;
            } else {
                let button = Held { tab, releases: vec![Release::Button(up)] };
                tab.mouse(&down).await?;
                tokio::time::sleep(press.hold).await;
                button.end().await?;
            }
        }
        Ok(())
    }

    /// Types a text key by key into what has the focus.
    pub(super) async fn type_keys(&self, text: &str) -> Result<(), ElementError> {
        self.tab().type_keys(text, &self.gate).await
    }

    /// Presses keys that every keyboard has.
    pub(super) async fn press_keys(&self, keys: &str) -> Result<(), ElementError> {
        match Chord::parse(keys) {
            Ok(chord) => self.tab().press(&chord).await,
            Err(_) => Ok(()),
        }
    }

    /// Replaces what is selected by a text.
    pub(super) async fn replace_selection(&self, text: &str) -> Result<(), ElementError> {
        self.gate.note_sent();
        if !text.is_empty() {
            return self.input(&InsertText { text }).await;
        }
        match Chord::parse("Delete") {
            Ok(delete) => self.tab().press(&delete).await,
            Err(_) => Ok(()),
        }
    }

    /// Returns what the last press would have reached instead of the element. `None` if it reached the element, or if that is not known:
    /// the document is gone, or its page has taken the press before anybody could look at it.
    async fn missed_press(&self) -> Option<NamedElement> {
        let covers = join_all(self.pressed().map(|element| element.call_for_element(MISSED_PRESS, &[]))).await;
        let cover = covers.into_iter().find_map(|cover| cover.ok().flatten())?;
        Some(self.gate.name(&self.element.browser, &cover).await)
    }

    /// Clicks at a point of the tab, once or twice, in the manner of an act. Returns what is not clear about it.
    ///
    /// # Errors
    ///
    /// The refusal of a press that would have reached something else, and of a form that the browser did not send.
    pub(super) async fn press(
        &self,
        act: &Act,
        view: &ElementView,
        point: (f64, f64),
        times: u32,
    ) -> Result<Option<&'static str>, Decision> {
        let (keys, modifiers) = self.hold_modifiers(&act.press).await?;
        let point = self.settle(view, point, modifiers).await?;
        // Chromium may carry out input before a script that was sent first.
        let hold = [(act.press.hold.as_secs_f64() * 1000.0).into()];
        let watches = self.pressed().map(|element| element.call::<()>(WATCH_PRESS, &hold));
        try_join_all(watches).await?;
        self.click_at(point, &act.press, modifiers, times).await?;
        keys.end().await?;
        if let Some(cover) = self.missed_press().await {
            return Err(covered(&view.state, &cover));
        }
        // The page may have gone.
        let after = self.element.call::<(bool, bool, Vec<String>)>(AFTER_PRESS, &[]).await;
        let Ok((has_lost_click, is_unmet, messages)) = after else { return Ok(None) };
        if !messages.is_empty() {
            let element = &self.element;
            let mut named = Vec::new();
            for index in 0..messages.len() {
                let field = format!("function () {{ return {}; }}", refused_field(index));
                named.push(match element.call_for_element(&field, &[]).await {
                    Ok(Some(address)) => self.gate.name(&element.browser, &address).await,
                    _ => NamedElement::default(),
                });
            }
            return Err(not_sent(&named, &messages, &self.secrets()));
        }
        if is_unmet {
            return Ok(Some(NO_PRESS));
        }
        // A page may show something under a pointer that is held.
        Ok((has_lost_click && act.press.hold.is_zero()).then_some(LOST_CLICK))
    }

    /// Moves the pointer to a point of the element, and follows the element while it moves away from it. Returns where it is then. A page
    /// whose element changes under the pointer settles before it is pressed.
    async fn settle(&self, view: &ElementView, point: (f64, f64), modifiers: u32) -> Result<(f64, f64), ElementError> {
        self.hover_at(point, modifiers).await?;
        let (within, mut at) = (point != view.point, (point, view.state.point));
        // At a place that was asked for, the press is made or kept from what is there.
        if within {
            return Ok(point);
        }
        let until = Instant::now() + SETTLE_TIME;
        let mut is_steady = true;
        for looks in 1.. {
            let Ok(is_there) = self.is_at(at.1).await else { break };
            if (is_there && is_steady) || (looks >= SETTLE_LOOKS && Instant::now() >= until) {
                break;
            }
            // What changed once under the pointer may change back.
            is_steady = is_there;
            tokio::time::sleep(INTERVAL).await;
            if is_there {
                continue;
            }
            let Ok(seen) = self.view_in_viewport().await else { break };
            // A pointer that moves where it is would make the element change again.
            let is_elsewhere = (seen.point.0 - at.0.0).hypot(seen.point.1 - at.0.1) > 1.0;
            if seen.state.is_visible && seen.cover.is_none() && is_elsewhere {
                at = (seen.point, seen.state.point);
                self.hover_at(at.0, modifiers).await?;
            }
        }
        Ok(at.0)
    }

    /// Returns the element and the frames around it, each of which may be covered in its document.
    fn pressed(&self) -> impl Iterator<Item = &Located> {
        self.frames.iter().chain([&*self.element])
    }
}

impl GateSession {
    /// Presses a key a number of times in what has the focus in the active tab.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer, or does not send the form that the key is to send.
    pub async fn press(&self, chord: &Chord, count: u32) -> Result<(), Decision> {
        let (browser, page) = self.active()?;
        if chord.may_paste() {
            // What another session has put into the clipboard is not for this one's page.
            self.prepare_paste(&browser).await.map_err(|error| {
                tracing::warn!(%error, "the clipboard was not emptied");
                ElementError::Unsupported("another session is using the clipboard; try again")
            })?;
        }
        // Both can send a form.
        let may_send = matches!(chord.key.key.as_str(), "Enter" | " ");
        let watched = if may_send { self.watch_forms().await.ok() } else { None };
        for _ in 0..count {
            self.note_sent();
            InputSender { browser: &browser, page: &page }.press(chord).await?;
        }
        if chord.modifiers.is_empty() && chord.key.key == "Escape" {
            // Chromium does it for keys of its window only. The page may have gone.
            let _ = self.in_keyed_documents(RELEASE_SCREEN).await;
        }
        let refused = match &watched {
            Some(documents) => self.refused_form(documents).await,
            None => None,
        };
        refused.map_or(Ok(()), Err)
    }

    /// Turns the wheel of the pointer over a point of the active tab.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub(in crate::gate) async fn turn_wheel(
        &self,
        point: (f64, f64),
        (right, down): (i32, i32),
    ) -> Result<(), ElementError> {
        let (browser, page) = self.active()?;
        let turn = DispatchMouseEvent {
            delta_x: right.into(),
            delta_y: down.into(),
            ..DispatchMouseEvent::at(MouseEventType::MouseWheel, point)
        };
        InputSender { browser: &browser, page: &page }.mouse(&turn).await
    }

    /// Begins to watch the forms of the active tab for a key that may send one. Returns the documents in which they are watched.
    async fn watch_forms(&self) -> Result<Vec<KeyedDocument>, ElementError> {
        self.in_keyed_documents(WATCH_FORMS).await
    }

    /// Evaluates an expression in the document of the active tab, and in those of its frames if it returns true there: the focus may be in one.
    /// Returns these documents.
    async fn in_keyed_documents(&self, expression: &str) -> Result<Vec<KeyedDocument>, ElementError> {
        let (browser, page) = &self.active()?;
        let run = |world: World| async move { evaluate_promise(browser, &page.session, &world, expression).await };
        let (answer, top) = in_world(browser, page, run).await?;
        let mut keyed = vec![KeyedDocument { place: (page.session.clone(), page.frame.clone()), world: top }];
        if answer.into_value() == Some(true) {
            let frames = page.documents().into_iter().filter(|document| document.frame != page.frame).take(MAX_FRAMES);
            // A frame may go meanwhile.
            let inner = join_all(frames.map(|document| async move {
                let inner = world(browser, &document.session, &document.frame).await.ok()?;
                evaluate_promise(browser, &document.session, &inner, expression).await.ok()?;
                Some(KeyedDocument { place: (document.session, document.frame), world: inner })
            }));
            keyed.extend(inner.await.into_iter().flatten());
        }
        Ok(keyed)
    }

    /// Returns the refusal of a key with which the browser did not send a form. A page that has gone has sent it.
    async fn refused_form(&self, documents: &[KeyedDocument]) -> Option<Decision> {
        let (browser, page) = &self.active().ok()?;
        let asked = documents.iter().map(|KeyedDocument { place: (session, _), world }| async move {
            evaluate(browser, session, world, REFUSED_FIELDS, true).await.ok()?.into_value::<Vec<String>>()
        });
        let mut answers = documents.iter().zip(join_all(asked).await);
        let (KeyedDocument { place, world }, messages) = answers
            .find_map(|(document, messages)| Some((document, messages.filter(|messages| !messages.is_empty())?)))?;
        let mut named = Vec::new();
        for index in 0..messages.len() {
            let found = evaluate(browser, &place.0, world, &refused_field(index), false).await.ok()?;
            let element = Located::take_in(world, place.clone(), browser.clone(), page.clone(), found).ok()?;
            named.push(self.name(browser, &element.address().await.ok()?).await);
        }
        Some(not_sent(&named, &messages, &self.secret_literals()))
    }
}

/// Returns an event of a button while modifiers are held.
fn button_event(
    kind: MouseEventType,
    button: Button,
    point: (f64, f64),
    click_count: u32,
    modifiers: u32,
) -> DispatchMouseEvent {
    let (button, bit) = match button {
        Button::Left => (MouseButton::Left, 1),
        Button::Right => (MouseButton::Right, 2),
    };
    let buttons = if kind == MouseEventType::MouseReleased { 0 } else { bit };
    DispatchMouseEvent { modifiers, button, buttons, click_count, ..DispatchMouseEvent::at(kind, point) }
}
