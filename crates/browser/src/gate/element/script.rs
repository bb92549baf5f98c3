//! Scripts that the gate runs on an element, in a world of its own.

use std::sync::LazyLock;

use browser_shell_core::element::SECRET_WORDS;
use serde_json::{Value, json};

/// Roles that are checked.
pub(super) const BOX_ROLES: &[&str] = &["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"];

/// Functions that the gate keeps in its worlds, so that Chromium compiles them once for each: those of [`HELPERS`] and [`SEARCH`],
/// `stateOf`, and those of [`find_one`], [`take_found`] and [`WATCH_PRESS`]. They are kept under a symbol, because elements with
/// an id are members of the window.
pub(in crate::gate) static KEPT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "void (globalThis[Symbol.for('kept')] ??= (() => {{
    const [BOX_ROLES, SECRET_WORDS] = {};
    {HELPERS} {SEARCH}
    const countOf = {COUNT};
    const stateOf = {STATE};
    let lastScroll = -Infinity;
    addEventListener('scroll', () => {{ lastScroll = performance.now(); }}, {{ capture: true, passive: true }});
    const isScrolling = () => performance.now() - lastScroll < 100;
    {FORMS} {PRESS} {ENTRY}
    const found = new Map();
    const findOne = (selector, search, usesPointer) => {{
        const count = countOf(selector);
        if (count !== 1) return [count, null];
        const element = find(selector)[0];
        found.set(search, element);
        return [count, stateOf(element, usesPointer)];
    }};
    const takeFound = search => {{
        const element = found.get(search);
        found.delete(search);
        return element;
    }};
    const acts = {{ findOne, takeFound, watchPress, missedPress, hasLostClick, isAt, watchForms, refusedFields, refusedField, watchEntry }};
    const places = {{ imageOf, boxOf, inView, isShown, aimAt, hitOf, isWithin, parentOf, coverOf }};
    return {{ ...places, trees, find, possibleTaker, takers, isHelper, isUnseen, stateOf, ...acts }};
}})())",
        json!([BOX_ROLES, SECRET_WORDS])
    )
});

/// Statement by which a script calls functions of [`KEPT`].
const USE_KEPT: &str = "const { imageOf, boxOf, inView, isShown, aimAt, hitOf, isWithin, parentOf, coverOf, trees, find, possibleTaker, takers, isUnseen } = \
                        globalThis[Symbol.for('kept')];";

/// Returns the function of an element that does what a function does which calls those of [`KEPT`].
pub(super) fn with_kept(function: &str) -> String {
    format!("function (...values) {{ {USE_KEPT} return ({function}).apply(this, values); }}")
}

/// Returns the expression that calls such a function. The arguments are JSON.
pub(in crate::gate) fn call_with_kept(function: &str, arguments: &str) -> String {
    format!("(() => {{ {USE_KEPT} return ({function})({arguments}); }})()")
}

/// Returns the expression that finds the element that a selector matches, if it is the only one. It returns what [`COUNT`] does, and the
/// state of the element if that is 1. `selector` is JSON.
pub(super) fn find_one(selector: &Value, search: u64, uses_pointer: bool) -> String {
    format!("globalThis[Symbol.for('kept')].findOne({selector}, {search}, {uses_pointer})")
}

/// Returns the expression that returns the element that [`find_one`] found in a search, once.
pub(super) fn take_found(search: u64) -> String {
    format!("globalThis[Symbol.for('kept')].takeFound({search})")
}

/// Returns what [`STATE`] does.
pub(super) const STATE_OF: &str =
    "function (usesPointer) { return globalThis[Symbol.for('kept')].stateOf(this, usesPointer); }";

/// Returns what [`STATE`] does after an act.
pub(super) const STATE_AFTER_ACT: &str =
    "function () { return globalThis[Symbol.for('kept')].stateOf(this, false, true); }";

/// Functions for the others: the areas of an element, its point for the pointer, and the element that is in front of a point. An element
/// has several areas where its text breaks into lines. One without a size has those of its content, if this is not cut off. A part of an
/// image (`area`) has no box of its own: it is where its shape is on the first visible image with its map.
/// A straight line of a drawing has a box without a width or a height, to which its stroke is added.
pub(super) const HELPERS: &str = "
    const linesOf = element => element instanceof SVGGeometryElement ? [element]
        : element instanceof SVGGElement || element instanceof SVGAElement
            ? [...element.querySelectorAll('path, line, polyline, polygon, rect, circle, ellipse')].slice(0, 8) : [];
    const strokeOf = line => {
        const { stroke, strokeWidth, vectorEffect } = getComputedStyle(line);
        const [{ left, top, width, height }, matrix] = [line.getBoundingClientRect(), line.getScreenCTM()];
        const wide = stroke === 'none' || !matrix || width + height === 0 ? 0 : parseFloat(strokeWidth);
        const scale = !matrix || vectorEffect === 'non-scaling-stroke' ? 1 : Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c));
        const [x, y] = [width, height].map(size => size > 0 ? 0 : wide * scale / 2);
        return wide > 0 ? new DOMRect(left - x, top - y, width + 2 * x, height + 2 * y) : null;
    };
    const pointsOn = line => {
        try {
            const [matrix, length] = [line.getScreenCTM(), line.getTotalLength()];
            return [0.5, 0.3, 0.7, 0.1, 0.9].map(part => line.getPointAtLength(length * part).matrixTransform(matrix))
                .map(({ x, y }) => [x, y]).filter(([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight);
        } catch {
            // It is not drawn.
            return [];
        }
    };
    const rectsOf = element => {
        const visible = rects => [...rects].filter(rect => rect.width > 0 && rect.height > 0);
        const own = visible(element.getClientRects());
        if (own.length > 0) return own;
        const strokes = linesOf(element).map(strokeOf).filter(Boolean);
        if (strokes.length > 0) return strokes;
        const { display, overflowX, overflowY } = getComputedStyle(element);
        if (display !== 'contents' && (overflowX !== 'visible' || overflowY !== 'visible')) return [];
        const content = document.createRange();
        content.selectNodeContents(element);
        return visible(content.getClientRects());
    };
    const imageOf = element => {
        const map = element.localName === 'area' ? element.closest('map') : null;
        if (!map) return null;
        const isMapOf = image => [map.name, map.id].includes(image.useMap.replace(/^[^#]*#/, '') || null);
        const images = [...map.getRootNode().querySelectorAll('img[usemap]')].filter(isMapOf);
        return images.find(image => rectsOf(image).length > 0) ?? images[0] ?? null;
    };
    const areaOnImage = (element, image) => {
        const box = image.getBoundingClientRect();
        const scale = [box.width / (image.offsetWidth || 1), box.height / (image.offsetHeight || 1)];
        const style = getComputedStyle(image);
        const left = box.left + (image.clientLeft + parseFloat(style.paddingLeft)) * scale[0];
        const top = box.top + (image.clientTop + parseFloat(style.paddingTop)) * scale[1];
        const numbers = element.coords.split(/[\\s,;]+/).filter(Boolean).map(parseFloat);
        const shape = element.shape.toLowerCase();
        if (shape === 'default') return box;
        const [x, y, radius] = numbers;
        const isCircle = shape.startsWith('circ');
        const spots = isCircle ? [x - radius, y - radius, x + radius, y + radius] : numbers;
        const range = odd => {
            const values = spots.filter((_, index) => index % 2 === odd);
            return [Math.min(...values) * scale[odd], Math.max(...values) * scale[odd]];
        };
        const [[from, to], [above, below]] = [range(0), range(1)];
        const area = new DOMRect(left + from, top + above, to - from, below - above);
        return area.width > 0 && area.height > 0 ? area : undefined;
    };
    const areasOf = element => {
        const image = imageOf(element);
        return image ? [areaOnImage(element, image)].filter(Boolean) : rectsOf(element);
    };
    const areaOf = element => areasOf(element)[0];
    const boxOf = element => (imageOf(element) && areaOf(element)) || element.getBoundingClientRect();
    const isShown = element => {
        if (!areaOf(element)) return false;
        const box = imageOf(element) ?? element;
        const { display, visibility } = getComputedStyle(box);
        return display === 'contents' ? visibility === 'visible' : box.checkVisibility({ visibilityProperty: true });
    };
    const isOffPage = element => {
        const area = areaOf(element);
        return !!area && (area.right + scrollX <= 0 || area.bottom + scrollY <= 0);
    };
    const inView = ({ left, top, right, bottom }) =>
        [Math.max(left, 0), Math.max(top, 0), Math.min(right, innerWidth), Math.min(bottom, innerHeight)];
    const pointIn = ([left, top, right, bottom], x, y) => [left + (right - left) * x, top + (bottom - top) * y];
    const middleOf = element => {
        const area = areaOf(element);
        return area ? pointIn(inView(area), 0.5, 0.5) : [-1, -1];
    };
    const pointOf = element => {
        const seen = areasOf(element).map(inView).filter(([left, top, right, bottom]) => left < right && top < bottom);
        const isFree = point => isOwnPress(element, hitOf(element, point));
        const middle = seen.map(area => pointIn(area, 0.5, 0.5)).slice(0, 8).find(isFree);
        if (middle || seen.length === 0) return middle ?? middleOf(element);
        // Where a person sees it: on its line, beside what covers its middle, or in its shape.
        const onLine = linesOf(element).flatMap(pointsOn).find(isFree);
        if (onLine) return onLine;
        const steps = [0.5, 0.3, 0.7, 0.15, 0.85, 0.05, 0.95];
        const points = seen.slice(0, 2).flatMap(area => steps.flatMap(y => steps.map(x => pointIn(area, x, y))));
        return points.find(isFree) ?? middleOf(element);
    };
    const isInView = element => {
        const area = areaOf(element);
        return !!area && area.left >= 0 && area.top >= 0 && area.right <= innerWidth && area.bottom <= innerHeight;
    };
    const rootsOf = element => {
        const roots = [];
        for (let node = element; node; node = roots[0].host) roots.unshift(node.getRootNode());
        return roots;
    };
    const parentOf = node => imageOf(node) ?? node.assignedSlot ?? node.parentElement ?? node.getRootNode().host;
    const isWithin = (node, element) => {
        for (; node; node = parentOf(node)) if (node === element) return true;
        return false;
    };
    const CONTROLS = 'a, button, label, summary, option, [role=button], [role=link], [role=tab], [role=menuitem]';
    const OWN_PRESS = ['button', 'link', 'tab', 'menuitem', 'option', 'combobox', 'listbox', 'textbox', 'searchbox',
        'slider', 'spinbutton', ...BOX_ROLES].map(role => `[role=${role}]`).join(', ')
        + ', a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, [contenteditable=\"\"], [contenteditable=true]';
    const isBoxOf = element => BOX_ROLES.includes(element.getAttribute('role'))
        || (element.localName === 'input' && ['checkbox', 'radio'].includes(element.type));
    // True for a slider that cannot be seen, by itself or because what is around it hides it.
    const isHiddenRange = element => element.localName === 'input' && element.type === 'range'
        && [element, parentOf(element), parentOf(parentOf(element) ?? element)].some(node => node && isUnseen(node));
    const isOff = element => element.matches(':disabled') || !!element.closest('[aria-disabled=\"true\" i], [inert], button:disabled');
    const sizeOf = element => { const { width, height } = element.getBoundingClientRect(); return width * height; };
    // The outermost control in an element that a press of it at `hit` would reach instead.
    const otherAt = (element, hit) => {
        let other = null;
        for (let node = hit; node && node !== element; node = parentOf(node)) {
            if (node !== element.control && node.matches(OWN_PRESS)) other = node;
        }
        return other;
    };
    const hitOf = (element, [x, y]) => {
        let hit = null;
        for (const root of rootsOf(element)) {
            const inner = root.elementFromPoint(x, y);
            if (!inner) break;
            hit = inner;
            if (!isWithin(element, hit) || hit === element) break;
        }
        return hit;
    };
    // True if a press at `hit` reaches the element, and no other control in it. A control that fills most of another one is its content.
    const isOwnPress = (element, hit) => {
        if (inFrontOf(element, hit) !== null) return false;
        const other = hit && isWithin(hit, element) ? otherAt(element, hit) : hit && otherAt(labelAt(element, hit), hit);
        if (!other || other === element) return true;
        if (element.localName === 'label' || isBoxOf(element) || !isWithin(hit, element)) return false;
        return element.matches(CONTROLS) ? sizeOf(other) * 2 >= sizeOf(element) : !isOff(other);
    };
    const labelAt = (element, hit) => [...element.labels ?? []].find(label => isWithin(hit, label)) ?? hit;
    const inFrontOf = (element, hit) => {
        if (!hit) return document.documentElement;
        if (isWithin(hit, element)) return null;
        const control = element.closest(CONTROLS);
        if (control && isWithin(hit, control)) return null;
        for (const label of element.labels ?? []) if (isWithin(hit, label)) return null;
        // What lets the pointer through in a group of a drawing is on what takes it there.
        const isInGroup = element.parentNode instanceof SVGGElement && isWithin(hit, element.parentNode);
        if (isInGroup && getComputedStyle(element).pointerEvents === 'none') return null;
        // A part of an image takes presses in its shape only.
        const taker = imageOf(element) ? null : takerOf(element, hit);
        // What is around a slider that cannot be seen is its thumb.
        const isThumb = !!taker && isHiddenRange(element) && isWithin(element, taker);
        if (taker && (isThumb || takers.get(element) === taker || hasSign(element, hit, taker))) return null;
        return hit;
    };
    // Parts of a widget that take a press for a control of it: its shadow host, what is around it where the pointer passes through it,
    // a layer in front of it that shows nothing, and the drawing of a box that cannot be seen. A widget has one control.
    const takers = new WeakMap();
    const hasOthers = (root, element) => [...root.querySelectorAll(OWN_PRESS)].some(other =>
        other !== element && !isWithin(other, element) && !isWithin(element, other) && isShown(other)
            && !(isUnseen(other) && (!isBoxOf(other) || other.tabIndex < 0)));
    let lastWidget = { at: -1 };
    const widgetOf = element => {
        const at = performance.now();
        if (lastWidget.element === element && at - lastWidget.at < 20) return lastWidget.widget;
        let widget = null;
        for (let node = parentOf(element); node; node = parentOf(node)) {
            if (node === document.body || node === document.documentElement || hasOthers(node, element)) break;
            widget = node;
        }
        lastWidget = { element, at, widget };
        return widget;
    };
    const isUnseen = element => {
        const { width, height } = element.getBoundingClientRect();
        const { opacity, clip, clipPath } = getComputedStyle(element);
        return width <= 1 || height <= 1 || opacity === '0' || /rect\\((0|1)(px)?,? (0|1)(px)?,? (0|1)/.test(clip)
            || /inset\\((50|100)%\\)/.test(clipPath) || isOffPage(element);
    };
    // Pages draw a control of their own below one that nobody sees and that takes the pointer.
    const isPictured = element => {
        const { opacity, pointerEvents } = getComputedStyle(element);
        return opacity === '0' && pointerEvents !== 'none';
    };
    const isClear = element => {
        const { backgroundColor, backgroundImage, boxShadow, opacity } = getComputedStyle(element);
        if (opacity === '0') return true;
        const isPainted = backgroundImage !== 'none' || boxShadow !== 'none' || !/^transparent$|, 0\\)$/.test(backgroundColor);
        return !isPainted && !element.textContent.trim() && !element.matches('img, svg, svg *, canvas, video, iframe, embed, object')
            && !element.querySelector('img, svg, canvas, video, iframe, embed, object');
    };
    const takerOf = (element, hit) => {
        for (let root = element.getRootNode(); root.host; root = root.host.getRootNode()) {
            if (hit === root.host) return hasOthers(root, element) ? null : hit;
        }
        const widget = widgetOf(element);
        const label = hit.closest('label');
        if (!widget || !isWithin(hit, widget) || (label?.control && label.control !== element)) return null;
        if (isWithin(element, hit)) return hit;
        const { position } = getComputedStyle(hit);
        if (position === 'fixed' || sizeOf(hit) > 0.8 * innerWidth * innerHeight) return null;
        let taker = parentOf(element);
        while (!isWithin(hit, taker)) taker = parentOf(taker);
        if (isClear(hit)) return taker;
        return (isUnseen(element) || isHiddenRange(element)) && hit.getBoundingClientRect().height <= 120 ? taker : null;
    };
    // True if a part of a widget shows that it takes presses, without its listeners.
    const hasSign = (element, hit, taker) => {
        if (element.getRootNode().host === taker) return true;
        for (let node = hit; node; node = parentOf(node)) {
            if (node.matches(`${OWN_PRESS}, [tabindex], [onclick], [onmousedown], [onpointerdown], [onmouseup]`)) return true;
            if (node === taker) break;
        }
        const plain = ['auto', 'default', 'not-allowed', 'no-drop', 'wait', 'progress'];
        const around = parentOf(taker);
        const cursorOf = node => getComputedStyle(node).cursor;
        return !plain.includes(cursorOf(hit)) && cursorOf(hit) !== (around ? cursorOf(around) : 'auto');
    };
    const coverOf = (element, point) => inFrontOf(element, hitOf(element, point));
    // Other elements that take the pointer for a box: its labels, and what its page draws for one that cannot be seen; the thumb of a slider
    // that cannot be seen.
    const standInsOf = element => {
        if (isHiddenRange(element)) {
            let thumb = parentOf(element);
            while (thumb && isUnseen(thumb)) thumb = parentOf(thumb);
            return thumb && thumb.getBoundingClientRect().height <= 120 ? [thumb] : [];
        }
        if (!isBoxOf(element)) return [];
        const labels = [...element.labels ?? []].filter(isShown);
        const parent = parentOf(element);
        if (!isUnseen(element) || !parent || !widgetOf(element)) return labels;
        const drawn = [...parent.children, parent].filter(other =>
            other !== element && isShown(other) && !isUnseen(other) && other.getBoundingClientRect().height <= 120);
        return [...labels, ...drawn];
    };
    const standInPoint = (element, standIn) => {
        if (!isInView(standIn)) standIn.scrollIntoViewIfNeeded();
        const isFree = point => {
            const hit = hitOf(standIn, point);
            return !!hit && isWithin(hit, standIn) && isOwnPress(element, hit);
        };
        return [middleOf(standIn), pointOf(standIn)].find(isFree) ?? null;
    };
    const aimAt = element => {
        const point = pointOf(element);
        const isSeen = !!areaOf(element) && !isOffPage(element);
        if (!isSeen || (isInView(element) && !isOwnPress(element, hitOf(element, point)))) {
            for (const standIn of standInsOf(element)) {
                const other = standInPoint(element, standIn);
                if (other) return { point: other, isCovered: false, hasStandIn: true, isOff: false };
            }
        }
        const hit = hitOf(element, point);
        const other = hit && isWithin(hit, element) ? otherAt(element, hit) : null;
        return { point, isCovered: inFrontOf(element, hit) !== null, hasStandIn: false, isOff: !!other && isOff(other) };
    };
    // What may take presses for an element by listeners that only Chromium knows.
    const possibleTaker = element => {
        const hit = hitOf(element, pointOf(element));
        const isBeside = hit && !isWithin(hit, element) && !imageOf(element);
        const taker = areaOf(element) && isBeside ? takerOf(element, hit) : null;
        if (taker || !isBoxOf(element) || !isUnseen(element)) return taker;
        return standInsOf(element).length > 0 ? parentOf(element) : null;
    };
";

/// Returns the point that is this far from the left and the top of an element, negative if it is not in the element or in view.
pub(super) const POINT_AT: &str = "function (left, top) {
    const box = boxOf(this);
    const [x, y] = [box.left + left, box.top + top];
    const isInView = x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    const isInside = left < box.width && top < box.height && isInView;
    return isInside && !coverOf(this, [x, y]) ? [x, y] : [-1, -1];
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

/// Returns the state of an element, with the members of `ElementState`; `null` if the element is not in its document. Whether it moves,
/// is in view and is covered is read for an act with the pointer only, because Chromium has to lay out the page for that. In a document that
/// has just scrolled, every element moves: a key such as `End` scrolls for some frames. After an act, nothing but the text of an editor
/// is read for which Chromium has to lay out the page.
const STATE: &str = "(element, usesPointer, isAfterAct = false) => {
    if (!element.isConnected || element.ownerDocument !== document) return null;
    const clip = text => {
        const begin = String(text ?? '').slice(0, 1 << 20);
        return begin.toWellFormed ? begin.toWellFormed() : begin;
    };
    const tag = element.localName;
    const kind = tag === 'input' ? element.type : '';
    const context = element.editContext ?? null;
    const isBox = kind === 'checkbox' || kind === 'radio';
    const noText = ['button', 'submit', 'reset', 'image', 'hidden', 'checkbox', 'radio', 'file'];
    const isField = tag === 'textarea' || (tag === 'input' && !noText.includes(kind));
    const isEdited = !isField && element.isContentEditable === true;
    const words = (element.getAttribute('autocomplete') ?? '').toLowerCase().split(/\\s+/);
    const focused = element.getRootNode().activeElement;
    const seen = usesPointer ? aimAt(element) : { isCovered: false };
    const point = seen.point ?? (isAfterAct ? [-1, -1] : middleOf(element));
    let isMoving = usesPointer && isScrolling();
    for (let node = usesPointer ? element : null; node && !isMoving; node = parentOf(node)) {
        isMoving = node.getAnimations().some(animation => animation.playState === 'running');
    }
    let isChecked = null;
    if (isBox) isChecked = element.checked;
    else if (BOX_ROLES.includes(element.getAttribute('role'))) {
        const named = ['aria-checked', 'aria-pressed', 'aria-selected'].find(name => element.hasAttribute(name));
        isChecked = named ? element.getAttribute(named) === 'true' : ['checked', 'on'].includes(element.dataset.state);
    }
    const isRole = isChecked !== null && !isBox;
    const options = tag === 'select' ? [...element.options].slice(0, 2000) : [];
    return {
        tag, kind, point,
        is_disabled: isOff(element) || seen.isOff === true || (tag === 'label' && element.control?.matches(':disabled') === true),
        is_inert: !!element.closest('[inert]'),
        is_read_only: (isField && element.readOnly) || element.getAttribute('aria-readonly') === 'true',
        is_editable: isField,
        is_content_editable: isEdited || !!context,
        is_helper: (isField || !!context) && !isAfterAct && isHelper(element),
        taken: isAfterAct ? takenOf(element) : {},
        look: isRole ? clip(element.outerHTML.slice(0, 5000)) : '',
        is_unseen: tag === 'select' && !isAfterAct && isUnseen(element) && !isPictured(element),
        may_have_taker: usesPointer && (seen.isCovered || !isShown(element)) && !!possibleTaker(element),
        has_own_tag: tag.includes('-'),
        is_visible: !isAfterAct && isShown(element) && !(isBox && isOffPage(element)),
        is_moving: isMoving,
        is_in_view: usesPointer && (isInView(element) || seen.hasStandIn),
        is_covered: seen.isCovered,
        has_stand_in: seen.hasStandIn === true && element.checkVisibility({ visibilityProperty: true }),
        has_visible_label: !isAfterAct && [...(element.labels ?? [])].some(isShown),
        is_secret: kind === 'password' || words.some(word => SECRET_WORDS.includes(word)),
        has_focus: !!focused && isWithin(focused, element),
        value: isField || tag === 'select' ? clip(element.value) : context ? clip(context.text) : isEdited ? clip(element.innerText) : null,
        is_checked: isChecked,
        options: options.map(option => ({
            value: clip(option.value), label: clip(option.label), text: clip(option.textContent.trim()), is_selected: option.selected,
            is_disabled: option.matches(':disabled'),
        })),
        max_length: isField && element.maxLength >= 0 ? element.maxLength : null,
        limits: tag === 'input' ? ['min', 'max', 'step'].map(name => clip(element.getAttribute(name))) : ['', '', ''],
    };
}";

/// Returns the element in front of the point of an element, or `null`.
pub(super) const COVER: &str = "function () { return coverOf(this, aimAt(this).point); }";

/// Scrolls an element out from under a bar that stays in place while the page scrolls. Returns false if no such bar covers it.
pub(super) const UNCOVER: &str = "function () {
    let isBar = false;
    for (let node = coverOf(this, aimAt(this).point); node && !isBar && !isWithin(this, node); node = parentOf(node)) {
        const { width, height } = node.getBoundingClientRect();
        isBar = ['fixed', 'sticky'].includes(getComputedStyle(node).position) && (height < innerHeight / 2 || width < innerWidth / 2);
    }
    if (isBar) this.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    return isBar;
}";

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

/// Returns the field that a label is for, or `null`.
pub(super) const CONTROL: &str = "function () { return this.localName === 'label' ? this.control : null; }";

/// Functions that keep a press of the pointer from everything but the element that it is for: `watchPress` begins with it, for a press
/// within three seconds and the time that the button is held; `missedPress` returns what was in front of the element when it was pressed, or `null`, and ends it. A press that reaches the element ends it too. An element that has left its document is not missed: pages
/// replace what the pointer is on.
const PRESS: &str = "
    let press = null;
    const coverAt = event => {
        const { element, latest } = press;
        const isReached = !element.isConnected || event.composedPath().includes(element);
        return isReached || event.timeStamp > latest ? null : coverOf(element, [event.clientX, event.clientY]);
    };
    const see = event => {
        if (!press || press.isOver || !event.isTrusted) return;
        if (event.timeStamp > press.latest) press.isOver = true;
        if (press.isOver) return;
        if (!press.cover && !press.isReached && ['pointerdown', 'mousedown'].includes(event.type)) {
            press.cover = coverAt(event);
            press.isReached = !press.cover;
        }
        press.seen.push({ event, isOwn: inFrontOf(press.element, event.composedPath()[0]) === null });
        if (!press.cover) return;
        event.stopImmediatePropagation();
        event.preventDefault();
    };
    // Once for all acts: Chromium draws a frame before it takes input for new listeners of pointers.
    const kinds = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick', 'contextmenu', 'dblclick'];
    for (const kind of kinds) addEventListener(kind, see, { capture: true });
    // Behind the page's own: the browser's menu takes the input of its window, and nothing in it is for the agent.
    addEventListener('contextmenu', event => {
        if (press && event.isTrusted && event.timeStamp <= press.latest) event.preventDefault();
    });
    const watchPress = (element, hold) => {
        watchForms();
        press = { element, latest: performance.now() + 3000 + hold, cover: null, isReached: false, isOver: false, seen: [] };
    };
    const missedPress = element => {
        if (press?.element !== element) return null;
        press.isOver = true;
        return press.cover;
    };
    // True if the page got the press of an element and no click, because what was under the pointer changed meanwhile.
    const hasLostClick = element => {
        if (press?.element !== element || !press.isReached || !element.isConnected) return false;
        const some = (kind, is) => press.seen.some(({ event, isOwn }) => event.type === kind && is(event, isOwn));
        const isKept = ['pointerdown', 'mousedown'].some(kind => some(kind, event => event.defaultPrevented));
        const isClicked = ['click', 'auxclick', 'contextmenu'].some(kind => some(kind, (_, isOwn) => isOwn));
        const isElsewhere = some('mouseup', (_, isOwn) => !isOwn) && !isClicked;
        return some('mousedown', (_, isOwn) => isOwn) && !isKept && isElsewhere;
    };
    // Where the pointer has left an element lately, which changes its size or place under it.
    const exits = [];
    addEventListener('mouseout', event => {
        if (event.isTrusted) exits.push([event.composedPath()[0], event.relatedTarget, event.timeStamp]);
        exits.splice(0, exits.length - 8);
    }, { capture: true, passive: true });
    const isAt = (element, point) => {
        const isLeft = ([from, to, at]) => performance.now() - at < 100 && isWithin(from, element) && !(to && isWithin(to, element));
        return !element.isConnected || (coverOf(element, point) === null && !exits.some(isLeft));
    };
";

/// Functions that see a form which the browser refuses to send: `watchForms` begins with it, and `refusedFields` returns its fields. Pages
/// ask for the same checks by themselves: without a `submit`, and without a press or key that they took, the browser has refused.
const FORMS: &str = "
    let forms = { fields: [], isSent: false, begins: [] };
    const watchForms = () => { forms = { fields: [], isSent: false, begins: [] }; };
    addEventListener('invalid', event => { if (!event.defaultPrevented && forms.fields.length < 20) forms.fields.push(event.target); }, { capture: true });
    addEventListener('submit', () => { forms.isSent = true; }, { capture: true });
    for (const kind of ['click', 'keydown']) addEventListener(kind, event => { forms.begins.push(event); forms.begins.splice(0, forms.begins.length - 4); }, { capture: true });
    const isRefused = () => {
        const fields = forms.fields.filter(field => field.isConnected);
        return fields.length > 0 && !forms.isSent && !forms.begins.some(event => event.defaultPrevented);
    };
    const refusedFields = () => isRefused() ? [...new Set(forms.fields)].map(field => field.validationMessage) : [];
    const refusedField = index => [...new Set(forms.fields)][index];
";

/// Watches the next press of an element, of which the button is held for a number of milliseconds.
pub(super) const WATCH_PRESS: &str = "function (hold) { globalThis[Symbol.for('kept')].watchPress(this, hold); }";

/// Returns what was in front of an element when it was pressed, or `null`, and ends the watch of its press.
pub(super) const MISSED_PRESS: &str = "function () { return globalThis[Symbol.for('kept')].missedPress(this); }";

/// Returns true if the page got the last press of an element and no click, and the messages of the fields for which the browser did not send
/// their form.
pub(super) const AFTER_PRESS: &str = "function () {
    const { hasLostClick, refusedFields } = globalThis[Symbol.for('kept')];
    return [hasLostClick(this), refusedFields()];
}";

/// Begins to watch the forms of a document.
pub(super) const WATCH_FORMS: &str = "globalThis[Symbol.for('kept')].watchForms()";

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

/// Returns true if a point in the viewport of its frame is one of an element, or nobody can say so any more.
pub(super) const IS_AT: &str = "function (x, y) { return globalThis[Symbol.for('kept')].isAt(this, [x, y]); }";

/// Functions that see what a page does with a text that is entered: `watchEntry` begins with it, and `taken` returns it.
const ENTRY: &str = "
    let entry = null;
    for (const kind of ['keydown', 'beforeinput', 'input']) {
        addEventListener(kind, event => { if (entry && event.isTrusted && entry.events.length < 200) entry.events.push(event); }, { capture: true });
    }
    const watchEntry = element => {
        entry?.observer.disconnect();
        const watch = { element, events: [], isChanged: false };
        const isOther = ({ target }) => !isWithin(target, element);
        const note = records => { watch.isChanged ||= records.some(isOther); };
        watch.observer = new MutationObserver(note);
        watch.note = note;
        for (const root of rootsOf(element)) watch.observer.observe(root, { subtree: true, childList: true, characterData: true });
        entry = watch;
    };
    const takenOf = element => {
        if (entry?.element !== element) return {};
        entry.note(entry.observer.takeRecords());
        const of = (...kinds) => entry.events.filter(event => kinds.includes(event.type));
        return {
            is_kept: of('keydown', 'beforeinput').some(event => event.defaultPrevented),
            is_told: of('beforeinput', 'input').length > 0,
            has_changed_page: entry.isChanged,
        };
    };
    const isHelper = element => {
        const box = element.getBoundingClientRect();
        if (box.width <= 3 || box.height <= 3 || isUnseen(element)) return true;
        for (let node = parentOf(element); node && node !== document.body; node = parentOf(node)) {
            const { overflowX, overflowY, opacity } = getComputedStyle(node);
            const around = node.getBoundingClientRect();
            if (opacity === '0') return true;
            if (overflowX !== 'visible' && overflowY !== 'visible' && (around.width <= 3 || around.height <= 3)) return true;
        }
        return false;
    };
";

/// Returns the number of elements that a selector, CSS or `XPath`, matches, -1 if it is none, and -2 if scripts cannot decide. Elements in open
/// shadow trees count if there are no others.
pub(super) const COUNT: &str = "selector => {
    let count = 0;
    try { count = find(selector).length; } catch { return -1; }
    return count === 0 && trees().length > 1 && /[\\s>+~]/.test(selector.trim()) ? -2 : count;
}";

/// Returns one of the elements that a CSS selector matches.
pub(super) const PICK: &str = "(selector, index) => find(selector)[index]";

/// Returns whether an element that a CSS selector matches is `none`, `hidden` or `visible`; `unknown` if it is no CSS selector.
pub(super) const PRESENCE: &str = "selector => {
    let found = [];
    try { found = find(selector); } catch { return 'unknown'; }
    if (found.some(isShown)) return 'visible';
    return found.length > 0 ? 'hidden' : 'none';
}";

/// Returns true if the document, or an open shadow tree in it, shows a text without line breaks. What is in an element that lets all light
/// through, or a hidden list of options, is not shown.
pub(super) const SHOWS_TEXT: &str = "text => {
    const roots = [document.body ?? document.documentElement, ...trees().slice(1).flatMap(root => [...root.children])];
    const shown = roots.filter(root => root?.checkVisibility());
    const countIn = root => (root.innerText ?? root.textContent).replace(/\\s+/g, ' ').split(text).length - 1;
    const isFaint = element => getComputedStyle(element).opacity === '0' && element.getBoundingClientRect().top < innerHeight;
    const isHidden = element => element.localName === 'select' ? isUnseen(element) : isFaint(element);
    const hiddenIn = element => isHidden(element) ? [element] : [...element.children].flatMap(hiddenIn);
    return shown.some(root => {
        const count = countIn(root);
        return count > 0 && count > hiddenIn(root).reduce((sum, element) => sum + countIn(element), 0);
    });
}";

/// Returns the text that the document, and the open shadow trees in it, show.
pub(super) const SHOWN_TEXT: &str = "() => {
    const roots = [document.body ?? document.documentElement, ...trees().slice(1).flatMap(root => [...root.children])];
    return roots.filter(root => root?.checkVisibility()).map(root => root.innerText ?? root.textContent).join('\\n');
}";

/// Returns what selectors can compare: the values of all attributes and, for `XPath`, the texts.
pub(super) const COMPARED: &str = "selector => {
    const isPath = selector.includes('/') || selector.startsWith('xpath');
    const elements = trees().flatMap(root => [...root.querySelectorAll('*')]);
    const values = elements.flatMap(element => [...element.attributes].map(attribute => attribute.value));
    return [...values, ...(isPath ? trees().flatMap(root => [...root.children]).map(root => root.textContent) : [])].join('\\n');
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

/// Functions for the scripts about selectors.
pub(in crate::gate) const SEARCH: &str = "
    const trees = () => {
        const roots = [document];
        for (const root of roots) {
            for (const element of root.querySelectorAll('*')) if (element.shadowRoot) roots.push(element.shadowRoot);
        }
        return roots;
    };
    const XPATH = /^(xpath=|\\.{0,2}\\/\\/|\\(\\/\\/)/;
    const findPath = path => {
        const result = document.evaluate(path, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
        const nodes = Array.from({ length: result.snapshotLength }, (_, index) => result.snapshotItem(index));
        return nodes.filter(node => node.nodeType === Node.ELEMENT_NODE);
    };
    const find = selector => {
        if (XPATH.test(selector)) return findPath(selector.replace(/^xpath=/, ''));
        const found = [...document.querySelectorAll(selector)];
        return found.length > 0 ? found : trees().slice(1).flatMap(root => [...root.querySelectorAll(selector)]);
    };
";

/// Watches the events of a drag of an element, for [`DRAG_EVENTS`]. Requests are counted because an effect may follow them.
pub(super) const WATCH_DRAG: &str = "function () {
    const end = new AbortController();
    const on = (kind, see) => addEventListener(kind, event => event.isTrusted && see(event), { capture: true, signal: end.signal });
    const seen = {};
    let press = null, start = null, requests = 0;
    const text = String(getSelection());
    const observer = new PerformanceObserver(list => { requests += list.getEntries().length; });
    observer.observe({ type: 'resource' });
    on('mousedown', event => { press = event; });
    for (const kind of ['pointerdown', 'mousedown', 'mouseup']) on(kind, () => { seen.is_reached = true; });
    // Without a known element, it may be in a frame.
    seen.is_reached = this === document.documentElement;
    on('dragstart', event => { start = event; });
    on('mouseup', () => { seen.is_released = true; });
    on('dragend', event => {
        seen.is_ended = true;
        seen.is_rejected = event.dataTransfer?.dropEffect === 'none';
    });
    on('drop', () => { seen.is_dropped = true; });
    const isUnclear = () => {
        requests += observer.takeRecords().length;
        return requests > 0 || String(getSelection()) !== text || !!document.querySelector('canvas');
    };
    globalThis[Symbol.for('drag')]?.end.abort();
    globalThis[Symbol.for('drag')] = { end, events: () => ({
        ...seen,
        is_draggable: !!this.closest('[draggable=\"true\" i]'),
        is_pressed: !!press && !press.defaultPrevented,
        is_begun: !!start,
        is_prevented: !!start?.defaultPrevented,
        is_unclear: isUnclear(),
    }) };
}";

/// Returns the events of the drag that is watched, with the members of `DragEvents`.
pub(super) const DRAG_EVENTS: &str = "function () { return globalThis[Symbol.for('drag')].events(); }";

/// Ends the watch of a drag.
pub(super) const END_DRAG: &str = "function () { globalThis[Symbol.for('drag')]?.end.abort(); }";

/// Puts the focus on an element.
pub(super) const FOCUS: &str = "function () { this.focus(); }";

/// Puts the focus on a field and selects its content.
pub(super) const SELECT_CONTENT: &str = "function () {
    this.focus();
    globalThis[Symbol.for('kept')].watchEntry(this);
    if (this.editContext) return this.editContext.updateSelection(0, this.editContext.text.length);
    if (typeof this.select === 'function') return this.select();
    const root = this.getRootNode();
    (root.getSelection ? root.getSelection() : getSelection()).selectAllChildren(this);
}";

/// Scrolls the image that an element is a part of into view.
pub(super) const SHOW_IMAGE: &str = "function () { imageOf(this)?.scrollIntoViewIfNeeded(); }";

/// Puts the focus on an element, and the cursor behind its content unless it had the focus already. Returns false if keys would go
/// somewhere else then: neither the element, nor one in it, nor one to which its page passed the focus on has it.
pub(super) const FOCUS_AT_END: &str = "function () {
    const { watchEntry, isHelper } = globalThis[Symbol.for('kept')];
    const root = this.getRootNode();
    const before = root.activeElement;
    if (before !== this) this.focus();
    watchEntry(this);
    // In a field that an editor hides, the editor moves the cursor: its content is not what the page shows.
    if (before === this || this.editContext || isHelper(this)) return true;
    const focused = root.activeElement;
    if (typeof this.select === 'function') {
        try { this.setSelectionRange(this.value.length, this.value.length); } catch { this.select(); }
        return true;
    }
    if (!this.isContentEditable) return this.contains(focused) || focused !== before;
    const selection = root.getSelection ? root.getSelection() : getSelection();
    selection.selectAllChildren(this);
    selection.collapseToEnd();
    return true;
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
    if ('value' in this) this.dispatchEvent(new Event('change', { bubbles: true }));
}";

/// Chooses options by their values.
pub(super) const CHOOSE: &str = "function (values) {
    this.focus();
    for (const option of this.options) option.selected = values.includes(option.value);
    this.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    this.dispatchEvent(new Event('change', { bubbles: true }));
}";

/// Clicks an element that has no box of its own.
pub(super) const CLICK: &str = "function () { this.click(); }";

/// Returns the function of an element that scrolls the nearest box from it on, around it, that scrolls in a direction, and returns whether that
/// moved; `null` if there is none, while the next turn of the wheel is watched.
pub(super) fn scroll() -> String {
    format!(
        "function (right, down) {{
    {EDGES}
    const edge = down ? 'bottom' : 'right';
    const isOne = (box, kinds) => rangeOf(box, edge) > 0 && scrolls(box, edge, kinds);
    let box = this === document.body || this === document.documentElement ? page : this;
    if (!isOne(box, [...BOXES, 'hidden'])) while (box && !isOne(box, BOXES)) box = parentOf(box);
    if (!box) {{
        {WATCH_WHEEL}
        return null;
    }}
    {MOVES}
    return moves(box, right, down);
}}"
    )
}

/// Function that scrolls a box at once, and returns whether it moved.
const MOVES: &str = "
    const moves = (box, right, down) => {
        const at = () => String([box.scrollLeft, box.scrollTop]);
        const before = at();
        box.scrollBy({ left: right, top: down, behavior: 'instant' });
        return at() !== before;
    };
";

/// Statements that watch the next turn of the wheel, for [`WHEEL_TAKEN`].
const WATCH_WHEEL: &str = "
    const wheel = globalThis[Symbol.for('wheel')] = { isTaken: false };
    addEventListener('wheel', event => setTimeout(() => { wheel.isTaken ||= event.defaultPrevented; }), { capture: true, once: true, passive: true });
";

/// Scrolls the nearest box around the middle of the page that scrolls in a direction. Returns `null` if it did, and else the middle, while the
/// next turn of the wheel is watched.
pub(super) fn scroll_page() -> String {
    format!(
        "(right, down) => {{
    const middle = [innerWidth / 2, innerHeight / 2];
    let box = document.elementFromPoint(...middle) ?? document.documentElement;
    for (let inner = box.shadowRoot?.elementFromPoint(...middle); inner && inner !== box; inner = box.shadowRoot?.elementFromPoint(...middle)) box = inner;
    {MOVES}
    const scrolls = element => {{
        if (element === document.scrollingElement) return true;
        const {{ overflowX, overflowY }} = getComputedStyle(element);
        return ['auto', 'scroll', 'overlay'].includes(down ? overflowY : overflowX);
    }};
    for (; box; box = box.assignedSlot ?? box.parentElement ?? box.getRootNode().host) {{
        if (scrolls(box) && moves(box, right, down)) return null;
    }}
    if (document.scrollingElement && moves(document.scrollingElement, right, down)) return null;
    {WATCH_WHEEL}
    return middle;
}}"
    )
}

/// Functions for the scripts that scroll to an edge: how far a box scrolls, whether it is the page, and `scrollToEdge`, which returns how far it
/// has scrolled and where it is then, from its top or its left, in whole pixels.
const EDGES: &str = "
    const BOXES = ['auto', 'scroll', 'overlay'];
    const isUpright = edge => edge === 'top' || edge === 'bottom';
    const sizeIn = (box, edge) => isUpright(edge) ? box.clientHeight : box.clientWidth;
    const rangeOf = (box, edge) => (isUpright(edge) ? box.scrollHeight : box.scrollWidth) - sizeIn(box, edge);
    const page = document.scrollingElement ?? document.documentElement;
    const overflowOf = (element, edge) => {
        const { overflowX, overflowY } = getComputedStyle(element);
        return isUpright(edge) ? overflowY : overflowX;
    };
    // That of the window is the root's or else the body's, which then has none of its own.
    const scrolls = (box, edge, kinds) => {
        const root = document.documentElement;
        const lender = document.body && overflowOf(root, edge) === 'visible' ? document.body : root;
        if (box === page) return !['hidden', 'clip'].includes(overflowOf(lender, edge));
        return box !== lender && kinds.includes(overflowOf(box, edge));
    };
    const scrollToEdge = (box, edge) => {
        const name = isUpright(edge) ? 'scrollTop' : 'scrollLeft';
        const isEnd = edge === 'bottom' || edge === 'right';
        const before = box[name];
        const all = isUpright(edge) ? box.scrollHeight : box.scrollWidth;
        box.scrollTo({ [isUpright(edge) ? 'top' : 'left']: isEnd ? all : -all, behavior: 'instant' });
        const after = box[name];
        // Rows in reverse order, and texts from right to left, count from their end.
        const isReversed = before < 0 || after < 0 || (isEnd && after === 0);
        const place = isReversed ? rangeOf(box, edge) + after : after;
        return [Math.round(Math.abs(after - before)), Math.round(Math.abs(place))];
    };
";

/// Returns the function of an element that scrolls it to an edge and returns what `scrollToEdge` does, or `null` if it does not scroll.
pub(super) fn scroll_to_edge() -> String {
    format!(
        "function (edge) {{
    {EDGES}
    const box = this === document.body || this === document.documentElement ? page : this;
    const isHidden = rangeOf(box, edge) > 0 && scrolls(box, edge, ['hidden']);
    return isHidden || scrolls(box, edge, BOXES) ? scrollToEdge(box, edge) : null;
}}"
    )
}

/// Returns the function that does the same for the page: for the outermost box around its middle that scrolls. What stays in place while the
/// page scrolls, such as a dialog in front of it, comes first, and what scrolls by less than a tenth of its size last.
pub(super) fn scroll_page_to_edge() -> String {
    format!(
        "edge => {{
    {EDGES}
    const middle = [innerWidth / 2, innerHeight / 2];
    let box = document.elementFromPoint(...middle) ?? page;
    for (let inner = box.shadowRoot?.elementFromPoint(...middle); inner && inner !== box; inner = box.shadowRoot?.elementFromPoint(...middle)) box = inner;
    const boxes = [];
    for (; box; box = parentOf(box)) {{
        if (rangeOf(box, edge) > 0 && scrolls(box, edge, BOXES)) boxes.unshift(box);
        if (boxes.length > 0 && getComputedStyle(box).position === 'fixed') break;
    }}
    const chosen = boxes.find(box => rangeOf(box, edge) * 10 >= sizeIn(box, edge)) ?? boxes[0] ?? page;
    return scrolls(chosen, edge, BOXES) ? scrollToEdge(chosen, edge) : null;
}}"
    )
}

/// Waits until all is seen whose light has begun to come. What comes and goes for ever, and what goes, is not waited for.
pub(in crate::gate) const FADED_IN: &str = "() => {
    const isFadingIn = ({ effect, playState }) => {
        const lights = (effect?.getKeyframes?.() ?? []).map(frame => parseFloat(frame.opacity)).filter(light => light >= 0);
        const isOver = !(effect?.getComputedTiming().endTime < Infinity) || playState !== 'running';
        return !isOver && lights.length > 1 && lights[0] < 0.1 && lights.at(-1) > 0.1;
    };
    return Promise.allSettled(document.getAnimations().filter(isFadingIn).map(fade => fade.finished)).then(() => true);
}";

/// Returns true if the page has taken the turn of the wheel that was watched.
pub(super) const WHEEL_TAKEN: &str =
    "() => new Promise(end => setTimeout(() => end(globalThis[Symbol.for('wheel')]?.isTaken === true), 50))";

/// Returns a property of an element, in the form of agent-browser's answers.
pub(super) const READ: &str = "function (property, name) {
    const box = boxOf(this);
    const origin = document.URL;
    switch (property) {
        case 'text': return { text: this.innerText || this.textContent || '', origin };
        case 'html': return { html: this.innerHTML, origin };
        case 'attribute': return { attribute: name, value: this.getAttribute(name), origin };
        case 'box': return { box: { x: box.x, y: box.y, width: box.width, height: box.height } };
        case 'value': return { value: this.value ?? (this.isContentEditable ? this.innerText : ''), origin };
        case 'visible': return { visible: isShown(this) };
        case 'enabled': return { enabled: !this.matches(':disabled') };
        default: return { checked: this.checked ?? this.getAttribute('aria-checked') === 'true' };
    }
}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_words_stand_in_the_core_only() {
        let source = include_str!("script.rs");
        for word in SECRET_WORDS {
            assert!(KEPT.contains(&format!("\"{word}\"")), "{word}");
            assert!(!source.contains(word), "{word}");
        }
    }
}
