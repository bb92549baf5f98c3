//! Scripts that the gate runs on an element or in a document, in a world of its own.

use serde_json::Value;

use crate::gate::element::kept::with_kept;

/// Returns the expression that finds the element that a selector matches, if it is the only one. It returns what `COUNT` does, and the
/// state of the element if that is 1. `selector` is JSON.
pub(super) fn find_one(selector: &Value, search: u64, uses_pointer: bool) -> String {
    format!("globalThis[Symbol.for('kept')].findOne({selector}, {search}, {uses_pointer})")
}

/// Returns the expression that returns the element that [`find_one`] found in a search, once.
pub(super) fn take_found(search: u64) -> String {
    format!("globalThis[Symbol.for('kept')].takeFound({search})")
}

/// Returns what `STATE` does.
pub(super) const STATE_OF: &str =
    "function (usesPointer) { return globalThis[Symbol.for('kept')].stateOf(this, usesPointer); }";

/// Returns what `STATE` does after an act.
pub(super) const STATE_AFTER_ACT: &str =
    "function () { return globalThis[Symbol.for('kept')].stateOf(this, false, true); }";

/// Returns the point that is this far from the left and the top of an element, and why the pointer does not get there, if it does not.
pub(super) const POINT_AT: &str = "function (left, top) {
    const box = boxOf(this);
    const [x, y] = [box.left + left, box.top + top];
    const size = `${Math.round(box.width)} × ${Math.round(box.height)}`;
    if (left >= box.width || top >= box.height) return [x, y, `is outside the element, which has ${size} pixels; name a larger one around it`];
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return [x, y, 'is not in view; scroll first'];
    return [x, y, coverOf(this, [x, y]) ? 'is covered by another element' : null];
}";

/// Returns a point in view that is beside an element on which the pointer is, in its parent if there is one; `null` if the pointer is elsewhere
/// or there is no such point.
pub(super) const OUTSIDE: &str = "function () {
    if (!this.matches(':hover')) return null;
    const { left, top, right, bottom } = boxOf(this);
    const [[x, y], gap] = [[(left + right) / 2, (top + bottom) / 2], 4];
    const beside = [[x, bottom + gap], [x, top - gap], [right + gap, y], [left - gap, y]];
    const hits = beside.map(point => ({ point, hit: hitOf(document.documentElement, point) }));
    const outside = hits.filter(({ hit }) => hit && !isWithin(hit, this));
    const parent = parentOf(this);
    return (outside.find(({ hit }) => isWithin(hit, parent)) ?? outside[0])?.point ?? null;
}";

/// Returns the element in front of the point of an element, or `null`.
pub(super) const COVER: &str = "function () { return coverOf(this, aimAt(this).point); }";

/// Scrolls an element out from under a bar that stays in place while the page scrolls. Returns false if no such bar covers it.
pub(super) const UNCOVER: &str = "function () {
    const bar = barOver(this, aimAt(this).point);
    if (!bar) return false;
    const before = boxOf(this);
    const inline = bar.isAside ? 'center' : 'nearest';
    this.scrollIntoView({ block: 'center', inline, behavior: 'instant' });
    const after = boxOf(this);
    return before.left !== after.left || before.top !== after.top;
}";

/// Scrolls a point of a frame's document out from under a bar of the document around it. Returns where the point was in that, and false if no
/// such bar covers it.
pub(super) fn uncover_frame() -> String {
    with_kept(&format!(
        "function (x, y) {{
    const pointOfTab = {FRAME_POINT};
    const [left, top] = pointOfTab.call(this, x, y);
    const bar = barOver(this, [left, top]);
    if (!bar) return [left, top, false];
    const by = bar.isAside ? {{ left: left - innerWidth / 2 }} : {{ top: top - innerHeight / 2 }};
    for (let box = parentOf(this); box; box = parentOf(box)) {{
        const before = [box.scrollLeft, box.scrollTop];
        box.scrollBy({{ ...by, behavior: 'instant' }});
        if (box.scrollLeft !== before[0] || box.scrollTop !== before[1]) return [left, top, true];
    }}
    return [left, top, false];
}}"
    ))
}

/// Returns where a point of a frame's document is in the document of its element, and whether something else is in front of it.
pub(super) const FRAME_POINT: &str = "function (x, y) {
    const rect = this.getBoundingClientRect();
    const style = getComputedStyle(this);
    const scale = [rect.width / (this.offsetWidth || 1), rect.height / (this.offsetHeight || 1)];
    const point = [
        rect.left + (this.clientLeft + parseFloat(style.paddingLeft) + x) * scale[0],
        rect.top + (this.clientTop + parseFloat(style.paddingTop) + y) * scale[1],
    ];
    return [...point, coverOf(this, point) !== null];
}";

/// Returns the element in front of a point of an element, or `null`.
pub(super) const COVER_AT: &str = "function (x, y) { return coverOf(this, [x, y]); }";

/// Returns the part of an element that is in the viewport of its frame: left, top, right and bottom.
pub(super) const AREA_IN_VIEW: &str = "function () { return inView(boxOf(this)); }";

/// Returns the function that does the same for an area of a frame's document, in the document of its element.
pub(super) fn frame_area() -> String {
    with_kept(&format!(
        "function (left, top, right, bottom) {{
    const pointOfTab = {FRAME_POINT};
    [left, top] = pointOfTab.call(this, left, top);
    [right, bottom] = pointOfTab.call(this, right, bottom);
    return inView({{ left, top, right, bottom }});
}}"
    ))
}

/// Returns the field that a label, or the label around a text, is for, or the box whose text it is; or `null`.
pub(super) const CONTROL: &str = "function () {
    if (this.localName === 'label') return this.control;
    const isOther = this.matches('a[href], button, input, meter, output, progress, select, textarea, [role], [tabindex], [contenteditable]');
    return isOther ? null : this.closest('label')?.control ?? this.closest(BOXES);
}";

/// Returns what a page shows in place of a list or field of one that nobody sees, or `null`.
pub(super) const SHOWN_FOR: &str =
    "function () { return this.localName === 'select' || isHiddenCombo(this) ? shownFor(this) : null; }";

/// Watches the next press of an element, of which the button is held for a number of milliseconds.
pub(super) const WATCH_PRESS: &str = "function (hold) { globalThis[Symbol.for('kept')].watchPress(this, hold); }";

/// Returns what was in front of an element when it was pressed, or `null`, and ends the watch of its press.
pub(super) const MISSED_PRESS: &str = "function () { return globalThis[Symbol.for('kept')].missedPress(this); }";

/// Returns true if the page got the last press of an element and no click, true if it got nothing of it, and the messages of the fields for
/// which the browser did not send their form.
pub(super) const AFTER_PRESS: &str = "function () {
    const { hasLostClick, isUnmet, refusedFields } = globalThis[Symbol.for('kept')];
    return [hasLostClick(this), isUnmet(this), refusedFields()];
}";

/// Begins to watch the forms of a document. Returns true if the focus may be in a frame of it.
pub(super) const WATCH_FORMS: &str = "(() => {
    const { watchForms, isFocusInFrame } = globalThis[Symbol.for('kept')];
    watchForms();
    return isFocusInFrame();
})()";

/// Ends what holds the pointer or the whole screen in a document, and waits for the browser to do it, for half a second. Returns true if the
/// focus may be in a frame of it.
pub(super) const RELEASE_SCREEN: &str = "(async () => {
    const isHeld = () => !!document.pointerLockElement || !!document.fullscreenElement;
    const until = performance.now() + 500;
    while (isHeld() && performance.now() < until) {
        if (document.pointerLockElement) document.exitPointerLock();
        if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
        await new Promise(resolve => setTimeout(resolve, 25));
    }
    return globalThis[Symbol.for('kept')].isFocusInFrame();
})()";

/// Returns true if a person sees dots for the characters of an element.
pub(super) const IS_MASKED: &str = "function () { return isMasked(this); }";

/// Returns the messages of the fields for which the browser did not send their form.
pub(super) const REFUSED_FIELDS: &str = "globalThis[Symbol.for('kept')].refusedFields()";

/// Returns the expression that returns one of these fields.
pub(super) fn refused_field(index: usize) -> String {
    format!("globalThis[Symbol.for('kept')].refusedField({index})")
}

/// Returns what may take presses for an element by listeners that only Chromium knows, or `null`.
pub(super) const POSSIBLE_TAKER: &str = "function () { return possibleTaker(this); }";

/// Lets what [`POSSIBLE_TAKER`] returns take presses for an element.
pub(super) const LET_TAKE: &str = "function () { takers.set(this, possibleTaker(this)); }";

/// Notes if a switch or box has no listener of its own, so that a part of it is pressed.
pub(super) const NOTE_LISTENER: &str =
    "function (isUnheard) { globalThis[Symbol.for('kept')].unheard.set(this, isUnheard); }";

/// Returns true if a point in the viewport of its frame is one of an element, or nobody can say so any more.
pub(super) const IS_AT: &str = "function (x, y) { return globalThis[Symbol.for('kept')].isAt(this, [x, y]); }";

/// Returns true if a person sees an element; `null` if it is not in its document any more.
pub(super) const SEEN: &str =
    "function () { return this.isConnected && this.ownerDocument === document ? isSeen(this) : null; }";

/// Returns one of the elements that a CSS selector matches.
pub(super) const PICK: &str = "(selector, index) => find(selector)[index]";

/// Returns whether an element that a CSS selector matches is `none`, `hidden` or `visible`; `unknown` if it is no CSS selector.
pub(super) const PRESENCE: &str = "selector => {
    let found = [];
    try { found = find(selector); } catch { return 'unknown'; }
    if (found.some(isSeen)) return 'visible';
    return found.length > 0 ? 'hidden' : 'none';
}";

/// Returns true if the document, or an open shadow tree in it, shows a text without line breaks. What is in an element that lets all light
/// through, or a hidden list of options, is not shown. A gap that a person sees is a blank, and what is drawn only where a person scrolls to
/// is shown.
pub(super) const SHOWS_TEXT: &str = "text => {
    // A frame without a size.
    if (innerWidth <= 1 || innerHeight <= 1) return false;
    const roots = [document.body ?? document.documentElement, ...trees().slice(1).flatMap(root => [...root.children])];
    const shown = roots.filter(root => root?.checkVisibility());
    // Designs write two characters of a button with a blank between them.
    const texts = /^\\p{Script=Han}{2}$/u.test(text) ? [text, [...text].join(' ')] : [text];
    const countIn = root => {
        const read = (root.innerText ?? root.textContent).replace(/\\s+/g, ' ');
        return texts.reduce((sum, text) => sum + read.split(text).length - 1, 0);
    };
    const isHidden = element => element.localName === 'select' ? isUnseen(element) : isFaint(element) || isFolded(element);
    const hiddenIn = element => isHidden(element) ? [element] : [...element.children].flatMap(hiddenIn);
    const isWhole = root => {
        const count = countIn(root);
        return count > 0 && count > hiddenIn(root).reduce((sum, element) => sum + countIn(element), 0);
    };
    const glue = text => text.replace(/\\s+/g, '');
    const wanted = glue(text);
    const placeOf = (node, isEnd) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return [...range.getClientRects()].filter(({ width }) => width > 0).at(isEnd ? -1 : 0);
    };
    const blockOf = node => {
        let box = node.parentElement;
        while (box && /^(inline|contents|ruby)$/.test(getComputedStyle(box).display)) box = box.parentElement;
        return box;
    };
    const areApart = (one, other) => {
        const [before, after] = [placeOf(one, true), placeOf(other, false)];
        if (!before || !after) return blockOf(one) !== blockOf(other);
        const shared = Math.min(before.bottom, after.bottom) - Math.max(before.top, after.top);
        const [lower, line] = [Math.min(before.height, after.height), Math.max(before.height, after.height)];
        if (shared <= lower * 0.3) return blockOf(one) !== blockOf(other);
        // A number that is higher or smaller is another one, as cents are, but for the digits of a counter and decimals.
        const [own, next] = [glue(one.data), glue(other.data)];
        const baseOf = ({ top, height }) => top + height * 0.8;
        const isRaised = own.length + next.length > 2 && Math.abs(baseOf(before) - baseOf(after)) > line * 0.1;
        const isSmall = lower < line * 0.8 && !/\\d[.,](\\d{1,2}|\\d{4,})$|^\\D*0[.,]\\d+$/.test(own);
        if (/\\d$/.test(own) && /^\\d/.test(next) && (isRaised || isSmall)) return true;
        return Math.max(after.left - before.right, before.left - after.right) > line / 8;
    };
    // Only texts that come one after another without a blank are looked at by their places.
    const isApartIn = root => {
        if (wanted === '' || !glue(root.textContent).includes(wanted)) return false;
        const isRead = node => {
            if (node.nodeType === Node.ELEMENT_NODE) {
                const isLeftOut = ['iframe', 'noscript', 'script', 'style', 'template', 'textarea'].includes(node.localName);
                return isLeftOut || isHidden(node) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
            }
            const isDrawn = node.parentElement?.checkVisibility({ visibilityProperty: true });
            return isDrawn ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
        };
        if (isHidden(root)) return false;
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, isRead);
        const [parts, blanks] = [[], new Set()];
        let glued = '';
        while (walker.nextNode()) {
            const node = walker.currentNode;
            let offset = glued.length;
            for (const [number, word] of node.data.split(/\\s+/).entries()) {
                if (number > 0) blanks.add(offset);
                offset += word.length;
            }
            const own = glue(node.data);
            if (own !== '') parts.push({ node, start: glued.length });
            glued += own;
        }
        const starts = new Map(parts.map((part, place) => [part.start, place]));
        const isBlank = at => {
            const place = starts.get(at);
            return blanks.has(at) || place > 0 && areApart(parts[place - 1].node, parts[place].node);
        };
        const gaps = new Set();
        let length = 0;
        for (const character of text) {
            if (/\\s/.test(character)) gaps.add(length);
            else length += character.length;
        }
        let found = glued.indexOf(wanted);
        for (let tries = 0; found >= 0 && tries < 100; tries++) {
            const places = Array.from({ length: wanted.length - 1 }, (_, at) => at + 1);
            if (places.every(at => isBlank(found + at) === gaps.has(at))) return true;
            found = glued.indexOf(wanted, found + 1);
        }
        return false;
    };
    return shown.some(root => isWhole(root) || isApartIn(root));
}";

/// Returns the text that the document, and the open shadow trees in it, show.
pub(super) const SHOWN_TEXT: &str = "() => {
    const roots = [document.body ?? document.documentElement, ...trees().slice(1).flatMap(root => [...root.children])];
    return roots.filter(root => root?.checkVisibility()).map(root => root.innerText ?? root.textContent).join('\\n');
}";

/// Returns what selectors can compare: the values of all attributes and, for `XPath`, the texts, comments and instructions.
pub(super) const COMPARED: &str = "selector => {
    const isPath = selector.includes('/') || selector.startsWith('xpath');
    const elements = trees().flatMap(root => [...root.querySelectorAll('*')]);
    const values = elements.flatMap(element => [...element.attributes].map(attribute => attribute.value));
    if (!isPath) return values.join('\\n');
    const others = trees().flatMap(root => {
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_COMMENT | NodeFilter.SHOW_PROCESSING_INSTRUCTION);
        const found = [];
        while (walker.nextNode()) found.push(`${walker.currentNode.target ?? ''} ${walker.currentNode.data}`);
        return found;
    });
    return [...values, ...trees().flatMap(root => [...root.children]).map(root => root.textContent), ...others].join('\\n');
}";

/// Returns the elements of all trees that CSS selectors match, each below those of the one before it, or `null` if one is no CSS.
/// `slice` has the positions of the first and last element that are needed, where that can be said. `isOutermost` leaves out
/// elements in others.
pub(in crate::gate) const FIND_ALL: &str = "(selectors, slice, isOutermost) => {
    const parentOf = node => node.parentElement ?? node.getRootNode().host;
    const isBelow = (node, elements) => {
        while ((node = parentOf(node))) if (elements.has(node)) return true;
        return false;
    };
    let found = null;
    for (const selector of selectors) {
        const around = found && new Set(found);
        try { found = trees().flatMap(root => [...root.querySelectorAll(selector)]); } catch { return null; }
        if (around) found = found.filter(element => isBelow(element, around));
    }
    if (isOutermost) {
        const all = new Set(found);
        return found.filter(element => !isBelow(element, all));
    }
    return slice && found.every(element => element.getRootNode() === document) ? found.slice(...slice) : found;
}";

/// Puts the focus on an element, or on the only one in it that takes it.
pub(super) const FOCUS: &str = "function () { globalThis[Symbol.for('kept')].focusIn(this); }";

/// Gives the focus to a field in an element that does not take it: `entered` if it is the only part that does, `press` if a press at a point
/// may, else `none`.
pub(super) const ENTER: &str = "function (x, y) { return globalThis[Symbol.for('kept')].enter(this, [x, y]); }";

/// Returns true if a field in an element has the focus.
pub(super) const IS_ENTERED: &str = "function () { return globalThis[Symbol.for('kept')].isEntered(this); }";

/// Puts the focus on a field and selects its content. Returns false if the focus stays elsewhere.
pub(super) const SELECT_CONTENT: &str = "function () {
    const { watchEntry, focusOn } = globalThis[Symbol.for('kept')];
    const isFocused = focusOn(this);
    watchEntry(this);
    const root = this.getRootNode();
    if (this.editContext) this.editContext.updateSelection(0, this.editContext.text.length);
    else if (typeof this.select === 'function') this.select();
    else (root.getSelection ? root.getSelection() : getSelection()).selectAllChildren(this);
    return isFocused;
}";

/// Scrolls the image that an element is a part of into view.
pub(super) const SHOW_IMAGE: &str = "function () { imageOf(this)?.scrollIntoViewIfNeeded(); }";

/// Puts the focus on an element, and the cursor behind its content unless it had the focus already. Returns `none` if keys
/// would go somewhere else then: neither the element, nor one in it, nor one to which its page passed the focus on has it; and `all` if
/// its content is selected, because no script moves the cursor in fields of its type.
pub(super) const FOCUS_AT_END: &str = "function () {
    const { watchEntry, focusOn, isHelper, isNobodysChoice } = globalThis[Symbol.for('kept')];
    const root = this.getRootNode();
    const hadFocus = root.activeElement === this;
    const isFocused = focusOn(this);
    watchEntry(this);
    // In a field that an editor hides, the editor moves the cursor: its content is not what the page shows.
    if (hadFocus && !isNobodysChoice(this) || this.editContext || isHelper(this)) return 'end';
    // A page that keeps the focus in its dialog gets the keys there.
    if (!isFocused) return 'none';
    if (typeof this.select === 'function') {
        try { this.setSelectionRange(this.value.length, this.value.length); } catch { if (!['email', 'number'].includes(this.type)) return 'end'; this.select(); return 'all'; }
        return 'end';
    }
    if (!this.isContentEditable) return 'end';
    const selection = root.getSelection ? root.getSelection() : getSelection();
    selection.selectAllChildren(this);
    selection.collapseToEnd();
    return 'end';
}";

/// Gives a field a value, as a person does with its control.
pub(super) const SET_VALUE: &str = "function (value) {
    this.focus();
    this.value = value;
    this.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    this.dispatchEvent(new Event('change', { bubbles: true }));
}";

/// Tells the page of a field that an edit of it has ended, as it hears it when a person leaves the field.
pub(super) const END_EDIT: &str = "function () {
    if ('value' in this) globalThis[Symbol.for('kept')].endEdit(this);
}";

/// Chooses options by their places.
pub(super) const CHOOSE: &str = "function (places) {
    const wanted = places.map(place => this.options[place]).filter(Boolean);
    const keyOf = ({ value, label }) => JSON.stringify([value, label]);
    const keys = wanted.map(keyOf);
    this.focus();
    globalThis[Symbol.for('kept')].watchEntry(this);
    // A page may make its options anew for the focus.
    const isAnew = !wanted.some(option => option.isConnected);
    for (const option of this.options) option.selected = isAnew ? keys.includes(keyOf(option)) : wanted.includes(option);
    this.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    this.dispatchEvent(new Event('change', { bubbles: true }));
}";

/// Clicks an element that has no box of its own.
pub(super) const CLICK: &str = "function () { this.click(); }";

/// Waits until all is seen whose light has begun to come, or that opens, and what begins to come when that is seen, as a dialog behind its
/// mask. What comes and goes for ever, and what fades out, is not waited for.
pub(in crate::gate) const FADED_IN: &str = "async () => {
    const isFadingIn = ({ effect, playState }) => {
        const frames = effect?.getKeyframes?.() ?? [];
        const lights = frames.map(frame => parseFloat(frame.opacity)).filter(light => light >= 0);
        const isOver = !(effect?.getComputedTiming().endTime < Infinity) || playState !== 'running';
        const isLit = lights.length > 1 && lights[0] < 0.1 && lights.at(-1) > 0.1;
        return !isOver && (isLit || frames.some(frame => 'clipPath' in frame || 'height' in frame));
    };
    const frame = () => new Promise(resolve => { requestAnimationFrame(resolve); setTimeout(resolve, 50); });
    for (let round = 0; round < 5; round++) {
        const fades = trees().flatMap(root => root.getAnimations()).filter(isFadingIn);
        if (fades.length === 0) break;
        await Promise.allSettled(fades.map(fade => fade.finished));
        await frame();
        await frame();
    }
    return true;
}";

/// Returns a property of an element, in the form of agent-browser's answers. `null` for one with more characters than an answer takes.
pub(super) const READ: &str = "function (property, name, maxLength) {
    const isTree = element => !!element.shadowRoot || element.localName === 'slot';
    const hasTrees = element => isTree(element) || [...element.querySelectorAll('*')].some(isTree);
    // As `innerText`, with what components show: their own parts, and what a page puts into these.
    const textOf = element => {
        const parts = [];
        const add = (node, isVisible) => {
            if (node.nodeType === Node.TEXT_NODE && isVisible) parts.push(node.data.replace(/\\s+/g, ' '));
            if (node.nodeType !== Node.ELEMENT_NODE || ['noscript', 'script', 'style', 'template'].includes(node.localName)) return;
            const { display, visibility } = getComputedStyle(node);
            if (display === 'none') return;
            const isBlock = node.localName === 'br' || !/^(inline|contents|ruby)/.test(display);
            const put = node.localName === 'slot' ? node.assignedNodes({ flatten: true }) : [];
            const children = node.shadowRoot?.childNodes ?? (put.length > 0 ? put : node.childNodes);
            if (isBlock) parts.push('\\n');
            for (const child of children) add(child, visibility === 'visible');
            if (isBlock) parts.push('\\n');
        };
        add(element, true);
        return parts.join('').replace(/ +/g, ' ').replace(/ ?\\n ?/g, '\\n').replace(/\\n+/g, '\\n').trim();
    };
    const box = boxOf(this);
    const origin = document.URL;
    const read = () => {
        switch (property) {
            case 'text': return { text: (this.localName === 'textarea' ? this.value : hasTrees(this) ? textOf(this) : this.innerText ?? this.textContent) ?? '', origin };
            case 'html': return { html: this.innerHTML, origin };
            case 'attribute': return { attribute: name, value: this.getAttribute(name), origin };
            case 'box': return { box: { x: box.x, y: box.y, width: box.width, height: box.height } };
            case 'value': return { value: this.localName === 'select' && this.multiple ? [...this.selectedOptions].map(option => option.value).join('\\n') : this.value ?? (this.isContentEditable ? editedOf(this) : ''), origin };
            case 'visible': return { visible: isSeen(this) };
            default: return { checked: this.checked ?? this.getAttribute('aria-checked') === 'true' };
        }
    };
    const answer = read();
    return [answer.text, answer.html, answer.value].some(text => text?.length > maxLength) ? null : answer;
}";
