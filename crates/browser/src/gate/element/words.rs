//! Selection of a part of an element's text by its words.
//!
//! Scripts report the text and select a part of it; the core searches the words in what the agent may read of it.
//!
//! Invariant: nothing is searched in a field that holds a secret, whatever the words are.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Act, Words, WordsFound};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gate::element::handle::{ElementHandle, ElementView};
use crate::gate::element::kept::with_kept;
use crate::gate::element::located::ElementError;

/// Number of times that the text is read while it changes.
const ATTEMPTS: usize = 3;

/// Functions for the others: the text of an element with line breaks where the page shows some, and the nodes that it is of. `null` for an
/// element without a text of which a part can be selected. A field is a text of its own, and none of what is around it.
const TEXT: &str = r"
    const FIELDS = 'input, textarea, select, iframe, object, embed, video, audio, canvas, script, style, template, noscript';
    const MAX_LENGTH = 1 << 20;
    const isField = element => typeof element.selectionStart === 'number';
    const textOf = element => {
        if (element.editContext) return { text: element.editContext.text, nodes: [] };
        if (isField(element)) return { text: element.value, nodes: [] };
        if (element.matches(FIELDS)) return null;
        const found = { text: '', nodes: [] };
        const breakLine = () => { if (found.text && !found.text.endsWith('\n')) found.text += '\n'; };
        const visit = node => {
            if (found.text.length > MAX_LENGTH) return;
            const { display, visibility, whiteSpaceCollapse } = getComputedStyle(node);
            if (display === 'none' || (display !== 'contents' && !node.checkVisibility())) return;
            const isLine = !/^(inline|contents|ruby)/.test(display);
            const keepsLines = (whiteSpaceCollapse ?? '') !== 'collapse';
            if (isLine) breakLine();
            const assigned = node.localName === 'slot' ? node.assignedNodes() : [];
            for (const child of assigned.length > 0 ? assigned : (node.shadowRoot ?? node).childNodes) {
                if (child.nodeType === Node.TEXT_NODE && visibility === 'visible') {
                    found.nodes.push({ node: child, start: found.text.length });
                    found.text += keepsLines ? child.data : child.data.replace(/\s/g, ' ');
                } else if (child.localName === 'br') breakLine();
                else if (child.nodeType === Node.ELEMENT_NODE) {
                    const isOther = child.matches(FIELDS) || (child.isContentEditable && child.matches('[contenteditable]'));
                    if (isOther) breakLine();
                    else visit(child);
                }
            }
            if (isLine) breakLine();
        };
        visit(element);
        return found;
    };
";

/// Returns the text of an element, and keeps it for [`SELECT`].
const READ: &str = "function () {
    const found = textOf(this);
    globalThis[Symbol.for('words')] = { element: this, text: found?.text };
    return found && (found.text.toWellFormed ? found.text.toWellFormed() : found.text);
}";

/// Puts the focus where a press on an element's text would: on the element, on the nearest one around it that takes it, or on none.
const FOCUS_TEXT: &str = "function () {
    for (let node = this; node; node = parentOf(node)) {
        if (node === document.body) break;
        if (node.getRootNode().activeElement !== node) node.focus({ preventScroll: node !== this });
        if (node.getRootNode().activeElement === node) return;
    }
    document.activeElement?.blur();
}";

/// Selects a part of the text that [`READ`] has returned. Returns `changed` if the element has another text by now, and `kept` if the page does
/// not let it be selected.
const SELECT: &str = "function (start, end) {
    const read = globalThis[Symbol.for('words')];
    const found = read?.element === this ? textOf(this) : null;
    if (!found || found.text !== read.text) return 'changed';
    if (this.editContext) {
        this.editContext.updateSelection(start, end);
        return 'done';
    }
    if (isField(this)) {
        this.setSelectionRange(start, end);
        return this.selectionStart === start && this.selectionEnd === end ? 'done' : 'kept';
    }
    const placeOf = index => {
        const { node, start } = found.nodes.findLast(({ start }) => start <= index);
        return [node, index - start];
    };
    const [[first, from], [last, to]] = [placeOf(start), placeOf(end - 1)];
    const around = first.parentElement ?? first.getRootNode().host;
    if (getComputedStyle(around).userSelect === 'none') return 'kept';
    const root = first.getRootNode();
    const selection = root === last.getRootNode() && root.getSelection ? root.getSelection() : getSelection();
    selection.setBaseAndExtent(first, from, last, to + 1);
    around.scrollIntoViewIfNeeded();
    return selection.anchorNode === first && selection.focusNode === last && !selection.isCollapsed ? 'done' : 'kept';
}";

/// Returns the element with this number, from 0, among those around an element and the element itself that are edited.
const EDITED: &str = "function (number) {
    for (let node = this; node; node = parentOf(node)) if (node.matches('[contenteditable]') && number-- === 0) return node;
    return null;
}";

/// Result of the script that selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Selected {
    /// The part is selected.
    Done,
    /// The element has another text by now.
    Changed,
    /// The page does not let the part be selected.
    Kept,
}

impl ElementHandle {
    /// Selects the first part of the element's text that has the words of an act, and returns the data of the answer.
    ///
    /// # Errors
    ///
    /// The refusal of the call.
    pub(super) async fn select_words(&self, act: &Act, view: &ElementView) -> Result<Value, Decision> {
        let words = Words::new(&act.text);
        let what = view.state.description();
        let refusal = |code, reason| Err(Decision::new(code, reason));
        if view.state.is_secret || self.is_in_secret_field().await? {
            return Err(secret());
        }
        // Pages change a text, or select all of it, when it gets the focus.
        self.element.call::<()>(&with_kept(FOCUS_TEXT), &[]).await?;
        for _ in 0..ATTEMPTS {
            let Some(text) = self.element.call::<Option<String>>(&with_text(READ), &[]).await? else {
                let reason = format!("no part of a `{what}` can be selected; leave out the words to select all of it");
                return refusal(Code::NoEffect, reason);
            };
            // Behind the text, so that they include what it shows. A piece of a secret makes its field a secret one.
            if self.gate.secrets().await.is_err() {
                return refusal(Code::PageUnreadable, "a page did not say which secrets it shows".to_owned());
            }
            if self.state().await?.is_secret || self.is_in_secret_field().await? {
                return Err(secret());
            }
            let (start, end, count) = match words.find(&text, &self.gate.secret_literals()) {
                WordsFound::At { start, end, count } => (start, end, count),
                WordsFound::Nowhere { has_masked } => {
                    let masked = if has_masked { "; lines with a mask are not searched" } else { "" };
                    let reason = format!("the text of the `{what}` does not have these words{masked}");
                    return refusal(Code::ElementNotFound, reason);
                }
            };
            match self.element.call(&with_text(SELECT), &[start.into(), end.into()]).await? {
                Selected::Done => return Ok(json!({ act.verb.confirmation(): true, "matches": count })),
                Selected::Changed => {}
                Selected::Kept => {
                    let reason = format!("the page does not let a part of the `{what}` be selected");
                    return refusal(Code::NoEffect, reason);
                }
            }
        }
        refusal(Code::NoEffect, format!("the text of the `{what}` keeps changing"))
    }

    /// Returns true if the element is a part of what is edited and holds a secret.
    async fn is_in_secret_field(&self) -> Result<bool, ElementError> {
        let secret = self.element.page.secret_fields(&self.element.session);
        let mut number = 0_u32;
        while !secret.is_empty() {
            match self.element.call_for_element(&with_kept(EDITED), &[number.into()]).await? {
                Some(field) if secret.contains(&field.node) => return Ok(true),
                Some(_) => number += 1,
                None => break,
            }
        }
        Ok(false)
    }
}

/// Returns the function of an element that does what a function does which calls those of [`TEXT`].
fn with_text(function: &str) -> String {
    with_kept(&format!("function (...values) {{ {TEXT} return ({function}).apply(this, values); }}"))
}

/// Returns the refusal of words for a field that holds a secret.
fn secret() -> Decision {
    let reason = "the field holds a secret, in which no words are searched";
    Decision::new(Code::SecretObservable, reason)
}
