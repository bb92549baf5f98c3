//! The element that a command acts on, with the frames around it.

use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{ElementState, NamedElement, Verb};
use browser_shell_core::output::mask::Literals;
use serde_json::Value;

use crate::gate::browser::Browser;
use crate::gate::element::kept::{BOX_ROLES, with_kept};
use crate::gate::element::located::{ElementError, Located, owner_of};
use crate::gate::element::script::{
    CONTROL, COVER, COVER_AT, FRAME_POINT, IS_AT, LET_TAKE, NOTE_LISTENER, POSSIBLE_TAKER, SEEN, SHOWN_FOR,
    STATE_AFTER_ACT, STATE_OF, UNCOVER, uncover_frame,
};
use crate::gate::page::{Page, World};
use crate::gate::session::{GateSession, NodeAddress};

/// Maximum depth of frames.
const MAX_DEPTH: usize = 16;

/// Events by which a page takes presses.
const PRESSES: &[&str] = &["click", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart", "touchend"];

/// Element that a command acts on.
pub struct ElementHandle {
    pub(super) gate: Arc<GateSession>,
    /// The outermost frame's element first, and the element last.
    pub(super) frames: Vec<Located>,
    pub(super) element: Arc<Located>,
}

/// Element as a person would see it now.
#[derive(Clone, Debug, Default)]
pub struct ElementView {
    /// State.
    pub state: ElementState,
    /// Point for the pointer, in the viewport of the tab.
    pub point: (f64, f64),
    /// Element that covers this point.
    pub cover: Option<NamedElement>,
}

/// First look at an element, taken while it was found: its state, `None` if it is not in its document.
pub struct FirstLook(pub(super) Option<ElementState>);

impl ElementHandle {
    /// Finds an element by its address, and the elements of all frames around it.
    pub(super) async fn find(
        gate: Arc<GateSession>,
        browser: Arc<Browser>,
        page: Arc<Page>,
        address: NodeAddress,
    ) -> Result<Self, ElementError> {
        let (element, world) = Located::find(browser, page, address).await?;
        Self::of(gate, element, world).await
    }

    /// Finds the elements of all frames around an element. `world` is that of its document.
    pub(super) async fn of(gate: Arc<GateSession>, element: Located, mut world: World) -> Result<Self, ElementError> {
        let page = element.page.clone();
        let mut frames: Vec<Located> = Vec::new();
        while frames.first().unwrap_or(&element).frame != page.frame {
            if frames.len() == MAX_DEPTH {
                return Err(ElementError::Unsupported("the element is in too many frames"));
            }
            let inner = frames.first().unwrap_or(&element);
            let (owner, outer) = owner_of(inner, world.parent.as_ref()).await?;
            frames.insert(0, owner);
            world = outer;
        }
        Ok(Self { gate, frames, element: Arc::new(element) })
    }

    /// Returns the field that the element is a label of, or the element itself.
    ///
    /// # Errors
    ///
    /// Returns an error if the element is gone, or its page does not answer.
    pub async fn into_control(self) -> Result<Self, ElementError> {
        let Some(control) = self.element.call_for_element(&with_kept(CONTROL), &[]).await? else { return Ok(self) };
        let (element, _) = Located::find(self.element.browser.clone(), self.element.page.clone(), control).await?;
        Ok(Self { element: Arc::new(element), ..self })
    }

    /// Returns what masks the secrets that the agent did not type.
    #[must_use]
    pub fn secrets(&self) -> Arc<Literals> {
        self.gate.secret_literals()
    }

    /// Returns the time that Chromium may take for input that a page handles.
    pub(super) const INPUT_TIMEOUT: Duration = Duration::from_mins(2);

    /// Returns the state of the element, without what is read for an act with the pointer only.
    ///
    /// # Errors
    ///
    /// `Gone` if it is not in its document any more.
    pub async fn state(&self) -> Result<ElementState, ElementError> {
        self.state_for(false).await
    }

    /// Returns true if a person sees the element: it is visible, lets not all light through, and is in no folded panel.
    ///
    /// # Errors
    ///
    /// `Gone` if it is not in its document any more.
    pub async fn is_seen(&self) -> Result<bool, ElementError> {
        self.element.call::<Option<bool>>(&with_kept(SEEN), &[]).await?.ok_or(ElementError::Gone)
    }

    /// Returns what the element holds after an act, without where it is and whether it is visible.
    ///
    /// # Errors
    ///
    /// `Gone` if it is not in its document any more.
    pub async fn state_after_act(&self) -> Result<ElementState, ElementError> {
        let state = self.element.call(STATE_AFTER_ACT, &[]).await?;
        self.with_secrecy(state).await
    }

    async fn state_for(&self, uses_pointer: bool) -> Result<ElementState, ElementError> {
        let state = self.element.call(STATE_OF, &[uses_pointer.into()]).await?;
        self.with_secrecy(state).await
    }

    /// Completes the state that a script has read. A field stays secret when the page changes its type.
    async fn with_secrecy(&self, state: Option<ElementState>) -> Result<ElementState, ElementError> {
        let mut state = state.ok_or(ElementError::Gone)?;
        if state.has_own_tag {
            let (role, is_checked, is_disabled) = self.element.accessible_state().await?;
            if state.is_checked.is_none() && BOX_ROLES.contains(&role.as_str()) {
                state.is_checked = Some(is_checked == Some(true));
            }
            state.is_disabled |= is_disabled;
        }
        let secret = self.element.page.secret_fields(&self.element.session);
        if !secret.is_empty() {
            state.is_secret |= secret.contains(&self.element.node().await?);
        }
        Ok(state)
    }

    /// Scrolls the element into view.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub async fn scroll_into_view(&self) -> Result<(), ElementError> {
        self.element.scroll_into_view().await
    }

    /// Returns the element as a person would see it when it takes an act. `seen` is what was read of it when it was found.
    ///
    /// # Errors
    ///
    /// `Gone` if it is not in its document any more.
    pub async fn look(&self, verb: Verb, seen: Option<FirstLook>) -> Result<ElementView, ElementError> {
        let state = match seen {
            Some(FirstLook(state)) => state,
            None => self.element.call(STATE_OF, &[verb.uses_pointer().into()]).await?,
        };
        let state = self.with_secrecy(state).await?;
        let is_in_view = self.frames.is_empty() && state.is_in_view && !state.is_covered;
        if verb.uses_pointer() && !is_in_view { self.view_in_viewport().await } else { self.view_of(state).await }
    }

    /// Returns the element as a person would see it when it takes an act.
    ///
    /// # Errors
    ///
    /// `Gone` if it is not in its document any more.
    pub async fn view_for(&self, verb: Verb) -> Result<ElementView, ElementError> {
        if verb.uses_pointer() { self.view_in_viewport().await } else { self.view().await }
    }

    /// Scrolls the element into view, and returns it as a person would see it then.
    ///
    /// # Errors
    ///
    /// `Gone` if it is not in its document any more.
    pub(super) async fn view_in_viewport(&self) -> Result<ElementView, ElementError> {
        // Chromium carries them out in this order.
        let (scrolled, state) = tokio::join!(self.scroll_into_view(), self.state_for(true));
        scrolled?;
        let mut state = state?;
        if state.tag == "area" {
            // Its image was scrolled to after that.
            state = self.state_for(true).await?;
        }
        if state.is_covered && self.element.call::<bool>(&with_kept(UNCOVER), &[]).await? {
            state = self.state_for(true).await?;
        }
        let is_covered = state.is_covered;
        let view = self.view_of(state).await?;
        if !is_covered && view.cover.is_some() && self.uncover_frames(view.state.point).await? {
            return self.view_of(self.state_for(true).await?).await;
        }
        Ok(view)
    }

    /// Scrolls a point of the element out from under a bar of the documents around its frame. Returns false if no such bar covers it.
    async fn uncover_frames(&self, [mut x, mut y]: [f64; 2]) -> Result<bool, ElementError> {
        for frame in self.frames.iter().rev() {
            let has_scrolled;
            (x, y, has_scrolled) = frame.call(&uncover_frame(), &[x.into(), y.into()]).await?;
            if has_scrolled {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the element as a person would see it now.
    ///
    /// # Errors
    ///
    /// `Gone` if it is not in its document any more.
    async fn view(&self) -> Result<ElementView, ElementError> {
        self.view_of(self.state().await?).await
    }

    async fn view_of(&self, mut state: ElementState) -> Result<ElementView, ElementError> {
        if state.may_have_taker && self.element.has_listener_at(&with_kept(POSSIBLE_TAKER), PRESSES).await? {
            self.element.call::<()>(&with_kept(LET_TAKE), &[]).await?;
            state = self.state_for(true).await?;
        }
        if state.may_have_part {
            let is_unheard = !self.element.listens(PRESSES, &[]).await?;
            self.element.call::<()>(NOTE_LISTENER, &[is_unheard.into()]).await?;
            if is_unheard {
                state = self.state_for(true).await?;
            }
        }
        let [mut x, mut y] = state.point;
        let mut cover = None;
        if state.is_covered {
            cover = self.element.call_for_element(&with_kept(COVER), &[]).await?;
        }
        for frame in self.frames.iter().rev() {
            let inside = [Value::from(x), Value::from(y)];
            let is_covered;
            (x, y, is_covered) = frame.call(&with_kept(FRAME_POINT), &inside).await?;
            if is_covered && cover.is_none() {
                cover = frame.call_for_element(&with_kept(COVER_AT), &[x.into(), y.into()]).await?;
            }
        }
        let cover = match cover {
            Some(address) => Some(self.gate.name(&self.element.browser, &address).await),
            None => None,
        };
        Ok(ElementView { state, point: (x, y), cover })
    }

    /// Adds to the refusal of an act on a list that nobody sees what its page shows for it.
    pub async fn with_shown(&self, refusal: Decision) -> Decision {
        if refusal.code != Code::ElementHidden {
            return refusal;
        }
        let Ok(Some(shown)) = self.element.call_for_element(&with_kept(SHOWN_FOR), &[]).await else { return refusal };
        let named = self.gate.name(&self.element.browser, &shown).await;
        Decision::new(refusal.code, format!("{}; use {named}", refusal.reason))
    }

    /// Returns true if the page listens for keys in the element, and not for texts.
    pub async fn listens_to_keys(&self) -> bool {
        let keys = &["keydown", "keypress", "keyup"];
        self.element.listens(keys, &["beforeinput", "input", "change"]).await.unwrap_or(false)
    }

    /// Returns true if a point in the viewport of its frame is one of the element.
    pub(super) async fn is_at(&self, [x, y]: [f64; 2]) -> Result<bool, ElementError> {
        self.element.call(IS_AT, &[x.into(), y.into()]).await
    }

    /// Returns a point of the element's frame as a point of the tab.
    pub(super) async fn to_tab(&self, (mut x, mut y): (f64, f64)) -> Result<(f64, f64), ElementError> {
        for frame in self.frames.iter().rev() {
            let inside = [Value::from(x), Value::from(y)];
            (x, y, _) = frame.call::<(f64, f64, bool)>(&with_kept(FRAME_POINT), &inside).await?;
        }
        Ok((x, y))
    }

    /// Returns true if the tab is open and shows no dialog, so that its elements can be read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        let (browser, page) = (&self.element.browser, &self.element.page);
        page.dialog().is_none() && browser.page(&page.target).is_some()
    }
}
