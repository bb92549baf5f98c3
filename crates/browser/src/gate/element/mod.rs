//! Elements of a session's pages: found by reference or by selector, checked, and used. `docs/reference.md` says what each act does, and
//! `docs/design/acting.md` why.
//!
//! Scripts run in a world of the gate's own, whose objects no page can change.
//!
//! Invariants: an element is only used in the document that it was found in.

mod drag;
pub(super) mod find;
mod handle;
mod input;
pub(super) mod kept;
pub(super) mod located;
mod picture;
mod presence;
pub(super) mod script;
mod scroll;
mod words;

use std::time::Duration;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Act, FieldFormat, Reading, Verb, check_before};
use browser_shell_core::output::DOUBT;
use browser_shell_core::output::mask::MASK;
use browser_shell_core::pdf::{Pdf, Unread};
use serde_json::{Value, json};

use self::kept::with_kept;
use self::script::{
    CHOOSE, CLICK, END_EDIT, ENTER, FOCUS, FOCUS_AT_END, IS_ENTERED, IS_MASKED, POINT_AT, READ, SELECT_CONTENT,
    SET_VALUE,
};
use crate::gate::pdf::read_pdf;

pub use find::{Match, Matches};
pub use handle::{ElementHandle, ElementView};
pub use located::ElementError;
pub use presence::Presence;

/// Maximum length of what is read of an element, in UTF-16 code units.
const MAX_READ: u32 = 4 << 20;

/// Number of looks at the focus after a press that is to give it to a field.
const ENTER_LOOKS: u32 = 6;

/// Interval between two of these looks.
const ENTER_INTERVAL: Duration = Duration::from_millis(50);

impl ElementHandle {
    /// Carries out an act, which a drag does with another element, and returns the data of its answer.
    ///
    /// # Errors
    ///
    /// The refusal of the call.
    pub async fn act(&self, act: &Act, view: &ElementView, other: Option<&Self>) -> Result<Value, Decision> {
        let element = &self.element;
        let mut answer = json!({ act.verb.confirmation(): true });
        let mut doubt = None;
        match act.verb {
            Verb::DoubleClick => doubt = self.press(act, view, self.point_of(act, view).await?, 2).await?,
            Verb::Hover => self.hover(self.point_of(act, view).await?).await?,
            Verb::Focus => element.call::<()>(FOCUS, &[]).await?,
            Verb::Fill => self.fill(act, view).await?,
            Verb::Type => {
                match element.call::<String>(FOCUS_AT_END, &[]).await?.as_str() {
                    "none" => self.enter(act, view).await?,
                    "all" => self.press_keys("End").await?,
                    _ => {}
                }
                self.type_keys(&act.typed_text()).await?;
            }
            Verb::Check | Verb::Uncheck if view.state.is_checked == Some(act.verb == Verb::Check) => {}
            Verb::Check | Verb::Uncheck if !view.state.is_visible && !view.state.has_stand_in => {
                self.gate.note_sent();
                element.call::<()>(CLICK, &[]).await?;
            }
            Verb::Click | Verb::Check | Verb::Uncheck => {
                doubt = self.press(act, view, self.point_of(act, view).await?, 1).await?;
            }
            Verb::Select => {
                if let Some(entry) = act.as_entry(&view.state) {
                    self.fill(&entry, view).await?;
                } else {
                    let places: Vec<usize> = act.options.iter().filter_map(|text| view.state.place(text)).collect();
                    self.gate.note_sent();
                    element.call::<()>(CHOOSE, &[json!(places)]).await?;
                }
                answer = json!({ "selected": act.options });
            }
            Verb::Scroll => self.scroll(act.direction()).await?,
            Verb::ScrollTo(edge) => answer = self.scroll_to(edge, view).await?,
            Verb::ScrollIntoView => self.scroll_into_view().await?,
            Verb::SelectText if !act.text.is_empty() => answer = self.select_words(act, view).await?,
            Verb::SelectText => drop(element.call::<bool>(SELECT_CONTENT, &[]).await?),
            Verb::Drag => {
                let missing = || Decision::new(Code::ElementNotFound, "a drag needs an element to drop on");
                doubt = self.drag_to(act, other.ok_or_else(missing)?).await?;
            }
            Verb::Read(reading) => {
                let pdf = if reading == Reading::Text { self.pdf().await } else { None };
                answer = match (pdf, property(reading)) {
                    (Some(pdf), _) => json!({ "text": pdf_text(&pdf)?, "origin": "" }),
                    (None, Some(property)) => {
                        let arguments = [property.into(), act.text.as_str().into(), MAX_READ.into()];
                        element.call::<Option<Value>>(&with_kept(READ), &arguments).await?.ok_or_else(too_long)?
                    }
                    (None, None) => json!({ "enabled": !view.state.is_disabled }),
                };
                if let (Reading::IsChecked, Some(is_checked)) = (reading, view.state.is_checked) {
                    answer = json!({ "checked": is_checked });
                }
                // The check of the landing is for the tab; refused frames are not read.
                if let Some(origin) = answer.get_mut("origin") {
                    *origin = element.page.url().into();
                }
                if view.state.is_secret
                    && let Some(shown) = self.held(act, reading, view).await?.and_then(|held| answer.get_mut(held))
                {
                    *shown = MASK.into();
                }
            }
            Verb::Picture => answer = self.picture().await?,
        }
        if let (Some(doubt), Some(members)) = (doubt, answer.as_object_mut()) {
            members.insert(DOUBT.to_owned(), doubt.into());
        }
        Ok(answer)
    }

    /// Returns the member of the answer to a reading that has what a secret field holds. Of an editor, that is its text only where a person
    /// sees dots for it: elsewhere the secrets in it are masked one by one.
    async fn held(&self, act: &Act, reading: Reading, view: &ElementView) -> Result<Option<&'static str>, Decision> {
        let is_text = view.state.tag == "textarea";
        let member = match reading {
            Reading::Value => return Ok(Some("value")),
            Reading::Attribute => return Ok(act.text.eq_ignore_ascii_case("value").then_some("value")),
            Reading::Text => "text",
            Reading::Html => "html",
            _ => return Ok(None),
        };
        let is_held = is_text && reading == Reading::Text
            || (is_text || view.state.is_content_editable)
                && self.element.call::<bool>(&with_kept(IS_MASKED), &[]).await?;
        Ok(is_held.then_some(member))
    }

    /// Reads the PDF that the element shows, or that is its page.
    async fn pdf(&self) -> Option<Pdf> {
        let element = &self.element;
        let (browser, page) = (&element.browser, &element.page);
        if !page.has_pdf() {
            return None;
        }
        let shown = element.shown_frame().await.filter(|frame| page.is_pdf(frame));
        let frame = shown.or_else(|| Some(element.frame.clone()).filter(|frame| page.is_pdf(frame)))?;
        Some(read_pdf(browser, page, &frame).await)
    }

    /// Returns the point of the tab for the pointer: the one that is asked for, or where the element was seen.
    async fn point_of(&self, act: &Act, view: &ElementView) -> Result<(f64, f64), Decision> {
        match act.offset {
            Some(offset) => self.point_at(offset).await,
            None => Ok(view.point),
        }
    }

    /// Returns the point of the tab that is this far from the left and the top of the element.
    ///
    /// # Errors
    ///
    /// The refusal of a point that is not in view.
    async fn point_at(&self, (left, top): (u32, u32)) -> Result<(f64, f64), Decision> {
        let (x, y, refusal): (f64, f64, Option<String>) =
            self.element.call(&with_kept(POINT_AT), &[left.into(), top.into()]).await?;
        if let Some(refusal) = refusal {
            return Err(Decision::new(Code::NoEffect, format!("`{left},{top}` {refusal}")));
        }
        Ok(self.to_tab((x, y)).await?)
    }

    /// Gives the focus to a field in an element that does not take it, by a press if need be: a group of fields may take input only then.
    ///
    /// # Errors
    ///
    /// The refusal of the text.
    async fn enter(&self, act: &Act, view: &ElementView) -> Result<(), Decision> {
        if !view.state.is_no_field() {
            return Err(without_focus(view));
        }
        let pressed = self.view_in_viewport().await?;
        let may_press = check_before(act, &pressed.state, &self.secrets()).is_ok() && pressed.cover.is_none();
        if !may_press || !pressed.state.is_visible {
            return Err(without_focus(view));
        }
        let at = pressed.state.point.map(Value::from);
        match self.element.call::<String>(ENTER, &at).await?.as_str() {
            "entered" => return Ok(()),
            "press" => {}
            _ => return Err(without_focus(view)),
        }
        self.press(act, &pressed, pressed.point, 1).await?;
        for _ in 0..ENTER_LOOKS {
            if self.element.call::<bool>(IS_ENTERED, &[]).await? {
                return Ok(());
            }
            tokio::time::sleep(ENTER_INTERVAL).await;
        }
        let what = view.state.description();
        let reason = format!(
            "a press gives no field in the `{what}` the focus; take a snapshot, and use the field that it shows"
        );
        Err(Decision::new(Code::NoEffect, reason))
    }

    async fn fill(&self, act: &Act, view: &ElementView) -> Result<(), Decision> {
        let Some(format) = FieldFormat::of(&view.state) else {
            if view.state.is_helper {
                // What an editor shows is not the content of its field: the editor selects it.
                self.element.call::<String>(FOCUS_AT_END, &[]).await?;
                self.press_keys("Control+a").await?;
            }
            if !view.state.is_helper || !view.state.is_editable {
                let is_focused = self.element.call::<bool>(SELECT_CONTENT, &[]).await?;
                // A page that keeps the focus in its dialog would get the text there.
                if !is_focused {
                    return Err(without_focus(view));
                }
            }
            self.replace_selection(&act.text).await?;
            // The page may have removed the field meanwhile, or left.
            let _ = self.element.call::<()>(END_EDIT, &[]).await;
            return Ok(());
        };
        let refused = || Decision::new(Code::NoEffect, format.hint(&view.state));
        let value = format.normalize(&act.text).ok_or_else(refused)?;
        self.gate.note_sent();
        Ok(self.element.call::<()>(SET_VALUE, &[value.into()]).await?)
    }
}

/// Returns the refusal of a reading of too much. What is cut could end in a part of a secret, which nothing finds.
fn too_long() -> Decision {
    let reason = format!("it has more than {MAX_READ} characters: name a smaller element");
    Decision::new(Code::PageUnreadable, reason)
}

/// Returns the refusal of a text or keys for an element that does not get the focus.
fn without_focus(view: &ElementView) -> Decision {
    let (what, advice) = (view.state.description(), view.state.advice());
    let reason = format!("a `{what}` takes no text and no keys: it does not get the focus{advice}");
    Decision::new(Code::NoEffect, reason)
}

/// Returns the text of a PDF.
fn pdf_text(pdf: &Pdf) -> Result<&str, Decision> {
    let refusal =
        |reason: Unread| Decision::new(Code::PdfUnreadable, format!("the PDF cannot be read: {}", reason.reason()));
    pdf.readable().map_err(refusal)
}

/// Returns what a script reads. Whether an element is enabled is in its state.
const fn property(reading: Reading) -> Option<&'static str> {
    Some(match reading {
        Reading::Text => "text",
        Reading::Html => "html",
        Reading::Attribute => "attribute",
        Reading::Box => "box",
        Reading::IsVisible => "visible",
        Reading::IsChecked => "checked",
        Reading::Value => "value",
        Reading::IsEnabled => return None,
    })
}
