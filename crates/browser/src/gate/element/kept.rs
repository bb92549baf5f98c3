//! Functions that the gate keeps in its worlds, for the scripts that it runs there.

use std::sync::LazyLock;

use browser_shell_core::element::SECRET_WORDS;
use serde_json::json;

/// Roles that are checked.
pub(super) const BOX_ROLES: &[&str] = &["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"];

/// Functions that the gate keeps in its worlds, so that Chromium compiles them once for each: those of [`HELPERS`] and [`SEARCH`],
/// `stateOf`, and those of `find_one`, `take_found` and `WATCH_PRESS`. They are kept under a symbol, because elements with
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
    const acts = {{ findOne, takeFound, watchPress, missedPress, hasLostClick, isUnmet, isAt, watchForms, refusedFields, refusedField, isFocusInFrame, watchEntry, endEdit, focusOn, focusIn, enter, isEntered, isNobodysChoice }};
    const places = {{ shownFor, isHiddenCombo, isMasked, editedOf, imageOf, boxOf, inView, isSeen, isFaint, isFolded, aimAt, hitOf, isWithin, parentOf, coverOf, barOver, BOXES }};
    return {{ ...places, trees, find, possibleTaker, takers, unheard, isHelper, isUnseen, stateOf, ...acts }};
}})())",
        json!([BOX_ROLES, SECRET_WORDS])
    )
});

/// Statement by which a script calls functions of [`KEPT`].
const USE_KEPT: &str = "const { shownFor, isHiddenCombo, isMasked, editedOf, imageOf, boxOf, inView, isSeen, isFaint, isFolded, aimAt, hitOf, isWithin, parentOf, coverOf, barOver, BOXES, trees, find, possibleTaker, takers, isUnseen } = \
                        globalThis[Symbol.for('kept')];";

/// Returns the function of an element that does what a function does which calls those of [`KEPT`].
pub(super) fn with_kept(function: &str) -> String {
    format!("function (...values) {{ {USE_KEPT} return ({function}).apply(this, values); }}")
}

/// Returns the expression that calls such a function. The arguments are JSON.
pub(in crate::gate) fn call_with_kept(function: &str, arguments: &str) -> String {
    format!("(() => {{ {USE_KEPT} return ({function})({arguments}); }})()")
}

/// Functions for the others: the areas of an element, its point for the pointer, and the element that is in front of a point. An element
/// has several areas where its text breaks into lines. One without a size has those of its content, if this is not cut off. A part of an
/// image (`area`) has no box of its own: it is where its shape is on the first visible image with its map.
/// A straight line of a drawing has a box without a width or a height, to which its stroke is added.
const HELPERS: &str = "
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
    // Of an entry of a tree with others in it, the part in front of those.
    const headOf = element => {
        const inner = element.getAttribute('role') === 'treeitem' ? element.querySelector('[role=treeitem]') : null;
        if (!inner?.getClientRects().length) return null;
        const [{ left, top, width }, first] = [element.getBoundingClientRect(), inner.getBoundingClientRect()];
        return first.top > top + 1 ? new DOMRect(left, top, width, first.top - top) : null;
    };
    const areasOf = element => {
        const [image, head] = [imageOf(element), headOf(element)];
        if (image) return [areaOnImage(element, image)].filter(Boolean);
        return head ? [head] : rectsOf(element);
    };
    const areaOf = element => areasOf(element)[0];
    const boxOf = element => (imageOf(element) && areaOf(element)) || element.getBoundingClientRect();
    // True if a person sees dots for its characters, as in a field for passwords.
    const isMasked = element => !['', 'none'].includes(getComputedStyle(element).webkitTextSecurity ?? '');
    const isShown = element => {
        if (!areaOf(element)) return false;
        const box = imageOf(element) ?? element;
        const { display, visibility } = getComputedStyle(box);
        return display === 'contents' ? visibility === 'visible' : box.checkVisibility({ visibilityProperty: true });
    };
    // True if it lets all light through. What is below the window may appear when a person scrolls to it.
    const isFaint = node => getComputedStyle(node).opacity === '0' && node.getBoundingClientRect().top < innerHeight;
    // True if a person sees it. Pages draw a box of their own for a field that lets all light through.
    const isSeen = element => {
        if (!isShown(element) || isOffPage(element)) return false;
        for (let node = element.matches('input, select, textarea') ? parentOf(element) : element; node; node = parentOf(node)) {
            if (isFaint(node)) return false;
        }
        // What is placed is cut by what it is placed in.
        let placed = getComputedStyle(element).position;
        for (let node = parentOf(element); node && placed !== 'fixed'; node = parentOf(node)) {
            const { position } = getComputedStyle(node);
            if (placed === 'absolute' && position === 'static') continue;
            if (isFolded(node)) return false;
            placed = position;
        }
        return true;
    };
    // True if it shows nothing of what is in it, as a panel that is closed.
    const isFolded = node => {
        if (node === document.body || node === document.documentElement) return false;
        const { overflowX, overflowY, display } = getComputedStyle(node);
        const { width, height } = node.getBoundingClientRect();
        const isBox = display !== 'contents' && display !== 'inline';
        return isBox && ((overflowX !== 'visible' && width < 1) || (overflowY !== 'visible' && height < 1));
    };
    // True if it is where nobody can scroll to, by the window or by a box around it.
    const isOffPage = element => {
        const area = areaOf(element);
        if (!area || (area.right > 0 && area.bottom > 0 && area.left < innerWidth && area.top < innerHeight)) return false;
        // How far what is around it can be scrolled to each side.
        let [left, right, up, down] = [0, 0, 0, 0];
        const add = node => {
            const [width, height] = [node.scrollWidth - node.clientWidth, node.scrollHeight - node.clientHeight];
            // The window has the direction of the body.
            const { direction } = getComputedStyle(node === document.documentElement ? document.body ?? node : node);
            const x = node.scrollLeft + (direction === 'rtl' ? width : 0);
            [left, right, up, down] = [left + x, right + width - x, up + node.scrollTop, down + height - node.scrollTop];
        };
        let isFixed = false;
        for (let node = element; node && node !== document.documentElement && !isFixed; node = parentOf(node)) {
            if (node !== element) add(node);
            isFixed = getComputedStyle(node).position === 'fixed';
        }
        if (!isFixed) add(document.scrollingElement ?? document.documentElement);
        const isBehind = area.left - right >= innerWidth || area.top - down >= innerHeight;
        return area.right + left <= 0 || area.bottom + up <= 0 || (isFixed && isBehind);
    };
    // The text of an editor, without the words that it shows while it is empty.
    const editedOf = editor => {
        const isWords = part => [...part.classList].some(word => /(^|[-_])placeholder$/.test(word)) || part.matches('[data-slate-placeholder], [data-placeholder]');
        const words = [...editor.querySelectorAll('[contenteditable=false]')].filter(isWords);
        const clean = text => text.replace(/[\\s\\u200b\\ufeff]+/g, '');
        return words.length > 0 && clean(words.map(part => part.innerText).join('')) === clean(editor.innerText) ? '' : editor.innerText;
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
        // A small control in it is another thing to press, as a link in a row. One that fills it is its content.
        const isClean = point => {
            const hit = hitOf(element, point);
            const other = hit && isWithin(hit, element) ? otherAt(element, hit) : null;
            return isOwnPress(element, hit) && !(other && sizeOf(other) * 4 < sizeOf(element));
        };
        // Nor is it where the middle is covered.
        const beside = new Map();
        const isAlone = point => {
            if (!isClean(point)) return false;
            const hit = hitOf(element, point);
            const other = hit && isWithin(hit, element) ? otherAt(element, hit) : null;
            if (!beside.has(other)) beside.set(other, hasBeside(element, hit));
            return !beside.get(other);
        };
        const middles = seen.map(area => pointIn(area, 0.5, 0.5)).slice(0, 8);
        const clean = middles.find(isClean);
        const isRow = !!clean && hasBeside(element, hitOf(element, clean));
        if ((clean && !isRow) || seen.length === 0) return clean ?? middleOf(element);
        // Where a person sees it: on its line, beside what covers its middle, or in its shape.
        const onLine = isRow ? null : linesOf(element).flatMap(pointsOn).find(isFree);
        if (onLine) return onLine;
        const steps = [0.5, 0.3, 0.7, 0.15, 0.85, 0.05, 0.95];
        const points = seen.slice(0, 2).flatMap(area => steps.flatMap(y => steps.map(x => pointIn(area, x, y))));
        if (isRow) return [...middles, ...points].find(point => isBare(element, hitOf(element, point))) ?? clean;
        return points.find(isAlone) ?? points.find(isClean) ?? [...middles, ...points].find(isFree) ?? middleOf(element);
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
    const FRAMES = 'iframe, frame, embed, object';
    const CONTROLS = 'a, button, label, summary, option, [role=button], [role=link], [role=tab], [role=menuitem]';
    const OWN_PRESS = ['button', 'link', 'tab', 'menuitem', 'option', 'combobox', 'listbox', 'textbox', 'searchbox',
        'slider', 'spinbutton', ...BOX_ROLES].map(role => `[role=${role}]`).join(', ')
        + ', a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, [contenteditable=\"\"], [contenteditable=true]';
    const BOXES = BOX_ROLES.map(role => `[role=${role}]`).join(', ');
    const isBoxOf = element => BOX_ROLES.includes(element.getAttribute('role'))
        || (element.localName === 'input' && ['checkbox', 'radio'].includes(element.type));
    // True for a slider that cannot be seen, by itself or because what is around it hides it.
    const isHiddenRange = element => element.localName === 'input' && element.type === 'range'
        && [element, parentOf(element), parentOf(parentOf(element) ?? element)].some(node => node && isUnseen(node));
    const isOff = element => {
        if (element.matches(':disabled')) return true;
        for (let node = element; node; node = node.getRootNode().host)
            if (node.closest('[aria-disabled=\"true\" i], [inert], button:disabled')) return true;
        return false;
    };
    const isBehindModal = element => {
        const modals = [...document.querySelectorAll('dialog:modal')];
        return modals.length > 0 && !modals.some(modal => isWithin(element, modal));
    };
    const sizeOf = element => { const { width, height } = element.getBoundingClientRect(); return width * height; };
    // The outermost control in an element that a press of it at `hit` would reach instead.
    const otherAt = (element, hit) => {
        let other = null;
        for (let node = hit; node && node !== element; node = parentOf(node)) {
            if (node !== element.control && node.matches(OWN_PRESS)) other = node;
        }
        return other;
    };
    // True if a press at `hit` is for the element alone.
    const isBare = (element, hit) => {
        if (!isOwnPress(element, hit) || !isWithin(hit, element) || otherAt(element, hit)) return false;
        const label = hit.closest('label');
        return !label || isWithin(element, label);
    };
    const ROWS = `${CONTROLS}, [role=option], [role=row], [role=gridcell], [role=treeitem], [role=menuitemcheckbox], [role=menuitemradio], `
        + '[onclick], [onmousedown], [onmouseup], [onpointerdown]';
    // True if the control at `hit` in an element is one more thing to press, as in a row that shows a text beside it. A link or a field is
    // so only where something says that the row takes presses, and not in what is entered into.
    const hasBeside = (element, hit) => {
        const other = hit && isWithin(hit, element) ? otherAt(element, hit) : null;
        if (!other || isBoxOf(element) || element.matches('label, [role=combobox], [role=textbox], [role=searchbox], [role=spinbutton]')) return false;
        const isLink = other.matches('a[href], area[href], [role=link]');
        const isField = other.matches('input, select, textarea, [contenteditable]');
        const isPointed = getComputedStyle(element).cursor === 'pointer' || element.localName === 'tr';
        const isRow = element.matches(ROWS) || (!isLink && (isPointed || !isField));
        return isRow && hasOwnText(element);
    };
    // True if a person sees a text of the element outside the controls in it.
    const hasOwnText = element => {
        const inner = `${OWN_PRESS}, label, [role=row], [role=treeitem]`;
        const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        for (let rest = 200; rest > 0 && texts.nextNode(); rest -= 1) {
            const { data, parentElement } = texts.currentNode;
            if (!data.trim()) continue;
            let node = parentElement;
            while (node && node !== element && !node.matches(inner)) node = node.parentElement;
            if (node === element && !isUnseen(parentElement) && isShown(parentElement)) return true;
        }
        return false;
    };
    const hitOf = (element, [x, y]) => {
        let hit = null;
        for (const root of rootsOf(element)) {
            const inner = root.elementFromPoint(x, y);
            if (!inner) break;
            hit = inner;
            if (!isWithin(element, hit) || hit === element) break;
        }
        // What covers it does so by a part in its own tree.
        for (let root = hit?.shadowRoot; root && !isWithin(element, hit) && !isWithin(hit, element); root = hit.shadowRoot) {
            const inner = root.elementFromPoint(x, y);
            if (inner?.getRootNode() !== root) break;
            hit = inner;
        }
        return hit;
    };
    // True for a frame in an element that takes presses: its document takes them there, and the element hears of none.
    const isFrameIn = (element, hit) => !!hit && hit !== element && hit.matches(FRAMES) && isWithin(hit, element)
        && (element.matches(`${OWN_PRESS}, ${ROWS}, [tabindex=\"0\"]`) || getComputedStyle(element).cursor === 'pointer');
    // True if a press at `hit` reaches the element, and no other control in it. A control that fills most of another one is its content.
    const isOwnPress = (element, hit) => {
        if (inFrontOf(element, hit) !== null || isFrameIn(element, hit)) return false;
        const other = hit && isWithin(hit, element) ? otherAt(element, hit) : hit && otherAt(labelAt(element, hit), hit);
        if (!other || other === element || isOwnField(element, hit)) return true;
        if (element.localName === 'label' || !isWithin(hit, element)) return false;
        // A box with the one of HTML in it is one box.
        if (isBoxOf(element)) return isBoxOf(other) && sizeOf(other) * 2 >= sizeOf(element);
        return element.matches(CONTROLS) ? sizeOf(other) * 2 >= sizeOf(element) : !isOff(other);
    };
    const labelAt = (element, hit) => [...element.labels ?? []].find(label => isWithin(hit, label)) ?? hit;
    const isOwnField = (element, hit) => {
        const own = element.closest('label')?.control;
        return !!own && isWithin(hit, own);
    };
    const inFrontOf = (element, hit) => {
        if (!hit) return document.documentElement;
        if (isWithin(hit, element)) return null;
        const control = element.closest(CONTROLS);
        if (control && isWithin(hit, control)) return null;
        for (const label of element.labels ?? []) if (isWithin(hit, label)) return null;
        // A label that stands in its field.
        if (isOwnField(element, hit)) return null;
        // What lets the pointer through is on what takes it there: a text on what is around it, as a line of an editor, and a part of a
        // drawing on what is in its group.
        const isInside = !control && isWithin(element, hit) && ![document.body, document.documentElement].includes(hit);
        const isInGroup = element.parentNode instanceof SVGGElement && isWithin(hit, element.parentNode);
        if ((isInside || isInGroup) && getComputedStyle(element).pointerEvents === 'none') return null;
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
    const hasOthers = (root, element, isAlike = () => false) => [...root.querySelectorAll(OWN_PRESS)].some(other =>
        other !== element && !isAlike(other) && !isWithin(other, element) && !isWithin(element, other) && isShown(other)
            && !(isUnseen(other) && (!isBoxOf(other) || other.tabIndex < 0)));
    let lastWidget = { at: -1 };
    const widgetOf = element => {
        const at = performance.now();
        if (lastWidget.element === element && at - lastWidget.at < 20) return lastWidget.widget;
        // What a page shows around a field for its list is one widget, with the button for the list.
        const shown = isHiddenCombo(element) ? shownFor(element) : null;
        let widget = shown && isWithin(element, shown) ? shown : null;
        if (!widget) for (let node = parentOf(element); node; node = parentOf(node)) {
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
    // True for a field of a list that nobody sees, which takes the keys for what its page shows around it.
    const isHiddenCombo = element => element.matches('[role=combobox], input[aria-haspopup]:not([aria-haspopup=false])') && isUnseen(element);
    // What a page shows in place of a list or field that nobody sees: the nearest thing beside or around it that takes presses.
    const shownFor = element => {
        const isDrawn = node => node instanceof Element && isShown(node) && !isUnseen(node) && node.getBoundingClientRect().height <= 120;
        const isPressed = node => isDrawn(node) && (node.matches(`${OWN_PRESS}, [tabindex], [aria-haspopup]`) || getComputedStyle(node).cursor === 'pointer');
        const outermost = node => {
            for (let rest = 3; rest > 0 && node.parentElement && isPressed(node.parentElement); rest -= 1) node = node.parentElement;
            return node;
        };
        let inner = element;
        for (let rest = 3; rest > 0; rest -= 1) {
            const around = inner.parentNode;
            // What is in a closed panel has nothing in its place.
            if (!around?.children || around === document.body || (inner !== element && !inner.checkVisibility())) break;
            const all = [...around.children];
            const place = all.indexOf(inner);
            for (const at of [1, -1, 2, -2]) {
                const beside = all[place + at];
                if (!beside || !isDrawn(beside)) continue;
                const found = [beside, ...beside.querySelectorAll('*')].slice(0, 50).find(isPressed);
                if (found) return outermost(found);
            }
            if (isPressed(around)) return outermost(around);
            inner = around.host ?? around;
        }
        return null;
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
        const pictures = 'img, svg, canvas, video, iframe, embed, object';
        const parts = [...element.shadowRoot?.children ?? []].filter(part => !part.matches('link, script, style, template'));
        const shows = node => node.textContent.trim() !== '' || node.matches(pictures) || !!node.querySelector(pictures);
        return !isPainted && ![element, ...parts].some(shows) && !element.matches('svg *');
    };
    // A layer in front of all entries of a list that shows nothing, and takes their presses by where they are, as that of a clock.
    const layerOf = (element, hit) => {
        const role = element.getAttribute('role');
        const lists = '[role=listbox], [role=radiogroup], [role=grid], [role=menu], [role=group]';
        const list = ['option', 'radio', 'gridcell', 'menuitemradio'].includes(role) ? element.parentElement?.closest(lists) : null;
        const around = hit.parentElement;
        if (!list || !around || around === document.body || !around.contains(element)) return null;
        const isLayer = hit.childElementCount === 0 && !hit.matches(`${OWN_PRESS}, [role=gridcell], label`) && isClear(hit);
        const isAlike = other => other.getAttribute('role') === role && list.contains(other);
        return isLayer && !isAbove(hit) && !hasOthers(around, element, isAlike) ? hit : null;
    };
    // True for what is in front of a page, not of a part of it.
    const isAbove = hit => getComputedStyle(hit).position === 'fixed' || sizeOf(hit) > 0.8 * innerWidth * innerHeight;
    const takerOf = (element, hit) => {
        const own = element.getRootNode();
        for (let root = own; root.host; root = root.host.getRootNode()) {
            if (hit === root.host) return hasOthers(root, element) ? null : hit;
        }
        const widget = widgetOf(element);
        if (!widget || !isWithin(hit, widget)) return layerOf(element, hit);
        // The trees of what covers it, which belongs to a control in these.
        const inner = rootsOf(hit).filter(root => root.host && !isWithin(element, root.host));
        const covers = [hit, ...inner.map(root => root.host)];
        const label = covers.map(cover => cover.closest('label')).find(Boolean);
        if ((label?.control && label.control !== element) || inner.some(root => hasOthers(root, element))) return null;
        if (isWithin(element, hit)) return hit;
        if (covers.some(isAbove)) return null;
        let taker = parentOf(element);
        while (!isWithin(hit, taker)) taker = parentOf(taker);
        if (covers.every(isClear)) {
            // A press of a part of the same shadow tree reaches its host, too, which may take it.
            const isInHost = !!own.host && rootsOf(hit).includes(own) && isWithin(own.host, widget);
            return isInHost && !isBoxOf(element) && !hasOthers(own, element) ? own.host : taker;
        }
        return (isUnseen(element) || isHiddenRange(element)) && hit.getBoundingClientRect().height <= 120 ? taker : null;
    };
    // True if a part of a widget shows that it takes presses, without its listeners.
    const hasSign = (element, hit, taker) => {
        if (element.getRootNode().host === taker && (hit === taker || parentOf(element) === taker)) return true;
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
    const opens = '[role=listbox], [role=menu], [role=dialog], dialog, [popover]';
    // A bar in front of a point that stays in place while the page, or the box around the element, scrolls; and whether it is aside.
    const barOver = (element, point) => {
        let scrolled = parentOf(element);
        while (scrolled && !(/auto|scroll/.test(getComputedStyle(scrolled).overflow) && scrolled.scrollHeight > scrolled.clientHeight)) scrolled = parentOf(scrolled);
        const edge = scrolled?.getBoundingClientRect();
        for (let node = coverOf(element, point); node && !isWithin(element, node); node = parentOf(node)) {
            const { position, left, right } = getComputedStyle(node);
            const { width, height } = node.getBoundingClientRect();
            const isOutside = !!scrolled && !isWithin(node, scrolled) && !node.matches(opens)
                && (width >= edge.width * 0.9 || height >= edge.height * 0.9);
            const isInPlace = ['fixed', 'sticky'].includes(position) || isOutside;
            if (!isInPlace || (height >= innerHeight / 2 && width >= innerWidth / 2)) continue;
            const isAtSide = position === 'sticky' && (left !== 'auto' || right !== 'auto');
            return { isAside: isAtSide || height >= innerHeight / 2 };
        }
        return null;
    };
    // Other elements that take the pointer for a box: its labels, and what its page draws for one that cannot be seen; the thumb of a slider
    // that cannot be seen.
    const standInsOf = element => {
        if (isHiddenRange(element)) {
            let thumb = parentOf(element);
            while (thumb && isUnseen(thumb)) thumb = parentOf(thumb);
            return thumb && thumb.getBoundingClientRect().height <= 120 ? [thumb] : [];
        }
        if (isHiddenCombo(element)) {
            const shown = shownFor(element);
            return shown && isWithin(element, shown) ? [shown] : [];
        }
        if (!isBoxOf(element)) return [];
        const labels = [...element.labels ?? []].filter(isShown);
        const parent = parentOf(element);
        if (!isUnseen(element) || !parent || !widgetOf(element)) return labels;
        const drawn = [...parent.children, parent].filter(other =>
            other !== element && isShown(other) && !isUnseen(other) && other.getBoundingClientRect().height <= 120);
        // A press of a label elsewhere presses the box itself, which a page that listens around it may undo.
        const isElsewhere = label => !isWithin(element, label) && !isWithin(label, parent);
        return takers.get(element) === parent && labels.every(isElsewhere) ? [...drawn, ...labels] : [...labels, ...drawn];
    };
    const standInPoint = (element, standIn) => {
        if (!isInView(standIn)) standIn.scrollIntoViewIfNeeded();
        const isFree = point => {
            const hit = hitOf(standIn, point);
            return !!hit && isWithin(hit, standIn) && isOwnPress(element, hit);
        };
        return [middleOf(standIn), pointOf(standIn)].find(isFree) ?? null;
    };
    // Switches and boxes that Chromium was asked about: true for one that has no listener of its own.
    const unheard = new WeakMap();
    // The only part of a switch or box that takes the focus or shows that it takes presses, where that itself does neither.
    const partOf = element => {
        const isOne = element.matches('[role=switch], [role=checkbox], [role=radio]') && isShown(element);
        const isPointed = node => getComputedStyle(node).cursor === 'pointer';
        const takesFocus = node => node.hasAttribute('tabindex') || node.tabIndex >= 0;
        if (!isOne || takesFocus(element) || isPointed(element)) return null;
        const found = [];
        const see = node => {
            if (node.matches(OWN_PRESS) || !isShown(node)) return NodeFilter.FILTER_REJECT;
            if (!(node.tabIndex >= 0) && !isPointed(node)) return NodeFilter.FILTER_ACCEPT;
            found.push(node);
            return NodeFilter.FILTER_REJECT;
        };
        const nodes = document.createTreeWalker(element.shadowRoot ?? element, NodeFilter.SHOW_ELEMENT, see);
        let rest = 50;
        while (rest > 0 && found.length < 2 && nodes.nextNode()) rest -= 1;
        return rest > 0 && found.length === 1 ? found[0] : null;
    };
    const partPoint = (element, part) => {
        const point = pointOf(part);
        const hit = hitOf(part, point);
        return !!hit && isWithin(hit, part) && isOwnPress(element, hit) ? point : null;
    };
    const aimAt = element => {
        const part = unheard.get(element) ? partOf(element) : null;
        const onPart = part ? partPoint(element, part) : null;
        if (onPart) return { point: onPart, isCovered: false, hasStandIn: false, isOff: false };
        const point = pointOf(element);
        const isSeen = !!areaOf(element) && !isOffPage(element);
        if (!isSeen || isHiddenRange(element) || (isInView(element) && !isOwnPress(element, hitOf(element, point)))) {
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
    const isDotted = (isField || isEdited || !!context) && isMasked(element);
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
    // What nobody reads through is not given: a text that is cut could end in a part of a secret.
    const short = text => String(text ?? '').length > 4096 ? '***' : clip(text);
    const optionOf = option => ({
        value: short(option.value), label: short(option.label || (tag === 'input' ? option.value : '')), group: short(option.parentElement?.localName === 'optgroup' ? option.parentElement.label : ''),
        text: short(option.textContent.trim()), is_selected: option.selected, is_disabled: option.matches(':disabled'),
    });
    const options = [];
    // A field may suggest some, which its value says nothing about.
    const listed = tag === 'select' ? element.options : tag === 'input' && !isAfterAct ? element.list?.options : null;
    const count = Math.min(listed?.length ?? 0, 20000);
    for (let length = 0; options.length < count && length < 1 << 20;) {
        const option = optionOf(listed[options.length]);
        options.push(option);
        length += option.value.length + option.label.length + option.group.length + option.text.length;
    }
    return {
        tag, kind, point,
        is_disabled: isOff(element) || seen.isOff === true || (tag === 'label' && element.control?.matches(':disabled') === true),
        is_inert: !!element.closest('[inert]') || isBehindModal(element),
        is_undisplayed: !element.checkVisibility({ visibilityProperty: true }) && getComputedStyle(element).display !== 'contents',
        is_read_only: (isField && element.readOnly) || element.getAttribute('aria-readonly') === 'true',
        is_editable: isField,
        is_stepped: ['slider', 'spinbutton'].includes(element.getAttribute('role')),
        is_content_editable: isEdited || !!context,
        is_helper: (isField || !!context) && !isAfterAct && isHelper(element),
        taken: isAfterAct ? takenOf(element) : {},
        look: isRole ? clip(element.outerHTML.slice(0, 5000)) : '',
        is_unseen: tag === 'select' && !isAfterAct && isUnseen(element) && !isPictured(element),
        may_have_part: usesPointer && !unheard.has(element) && !!partOf(element),
        may_have_taker: usesPointer && (seen.isCovered || !isShown(element)) && !!possibleTaker(element),
        has_own_tag: tag.includes('-'),
        is_visible: !isAfterAct && isShown(element) && !isOffPage(element),
        is_moving: isMoving,
        is_in_view: usesPointer && (isInView(element) || seen.hasStandIn),
        is_covered: seen.isCovered,
        has_stand_in: seen.hasStandIn === true && element.checkVisibility({ visibilityProperty: true }),
        has_visible_label: !isAfterAct && [...(element.labels ?? [])].some(isShown),
        is_secret: kind === 'password' || isDotted || words.some(word => SECRET_WORDS.includes(word)),
        has_focus: !!focused && isWithin(focused, element),
        value: isField || tag === 'select' ? clip(element.value) : context ? clip(context.text) : isEdited ? clip(editedOf(element)) : null,
        is_checked: isChecked,
        is_mixed: element.indeterminate === true || ['aria-checked', 'aria-pressed'].some(name => element.getAttribute(name) === 'mixed'),
        options,
        max_length: isField && element.maxLength >= 0 ? element.maxLength : null,
        limits: tag === 'input' ? ['min', 'max', 'step'].map(name => clip(element.getAttribute(name))) : ['', '', ''],
    };
}";

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
        press.isMet = true;
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
        watchForms(element);
        press = { element, latest: performance.now() + 3000 + hold, cover: null, isReached: false, isOver: false, isMet: false, seen: [] };
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
    // A page that writes its document anew takes away the listeners.
    const call = `heard-${Math.random()}`;
    let isHeard = false;
    addEventListener(call, () => { isHeard = true; });
    // True if the document of a control got nothing at all of its press. Only controls: others may have a frame in a tree that nobody sees.
    const isUnmet = element => {
        if (press?.element !== element || press.isMet || !element.isConnected || element.ownerDocument !== document) return false;
        if (!element.matches(`${OWN_PRESS}, label`) || element.localName.includes('-') || element.querySelector(FRAMES)) return false;
        isHeard = false;
        dispatchEvent(new Event(call));
        return isHeard;
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
    let forms = null;
    // What is told to a form in a shadow tree does not leave it.
    const heard = new WeakSet();
    const hearForms = root => {
        if (heard.has(root)) return;
        heard.add(root);
        root.addEventListener('invalid', event => {
            const { fields } = forms;
            if (!event.defaultPrevented && fields.length < 20 && !fields.includes(event.target)) fields.push(event.target);
        }, { capture: true });
        root.addEventListener('submit', () => { forms.isSent = true; }, { capture: true });
    };
    const watchForms = element => {
        forms = { fields: [], isSent: false, isAsked: false, begins: [] };
        for (const root of element ? [...rootsOf(element), element.shadowRoot] : []) if (root?.host) hearForms(root);
    };
    hearForms(globalThis);
    watchForms();
    const isSender = event => event.type === 'keydown' ? event.key === 'Enter'
        : event.composedPath().some(node => node.form && ['submit', 'image'].includes(node.type));
    for (const kind of ['click', 'keydown']) {
        addEventListener(kind, event => {
            for (const node of event.composedPath()) if (node instanceof ShadowRoot) hearForms(node);
            forms.isAsked ||= isSender(event);
            forms.begins.push(event);
            forms.begins.splice(0, forms.begins.length - 4);
        }, { capture: true });
    }
    const isRefused = () => {
        const fields = forms.fields.filter(field => field.isConnected);
        // A script that asks the browser to send a form, or to say what is wrong, gives a field the focus; one that only asks does not.
        const isAsked = forms.isAsked || fields.some(field => field.matches(':focus'));
        return isAsked && fields.length > 0 && !forms.isSent && !forms.begins.some(event => event.defaultPrevented);
    };
    // As the browser's own bubble: with the title, which says what the pattern means.
    const messageOf = field => [field.validationMessage, field.validity?.patternMismatch ? field.title : ''].filter(Boolean).join(' ');
    const refusedFields = () => isRefused() ? [...new Set(forms.fields)].map(messageOf) : [];
    const refusedField = index => [...new Set(forms.fields)][index];
    // True if the focus is in a frame, or where one may be that nobody sees.
    const isFocusInFrame = () => {
        let focused = document.activeElement;
        while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
        return !!focused && (focused.matches(FRAMES) || focused.localName.includes('-'));
    };
";

/// Functions that see what a page does with a text that is entered: `watchEntry` begins with it, and `taken` returns it.
const ENTRY: &str = "
    let entry = null;
    // The browser tells the end of an edit when a field loses the focus. A page that has heard of it already hears it once only.
    const ended = new WeakMap();
    const endEdit = element => {
        element.dispatchEvent(new Event('change', { bubbles: true }));
        ended.set(element, element.value);
    };
    for (const kind of ['beforeinput', 'input', 'change']) {
        addEventListener(kind, event => {
            const field = event.isTrusted ? event.composedPath()[0] : null;
            if (!field || !ended.has(field)) return;
            if (kind === 'change' && ended.get(field) === field.value) event.stopImmediatePropagation();
            ended.delete(field);
        }, { capture: true });
    }
    for (const kind of ['keydown', 'beforeinput', 'input']) {
        addEventListener(kind, event => { if (entry && event.isTrusted && entry.events.length < 200) entry.events.push(event); }, { capture: true });
    }
    // True if a key was the last that a person did in what has the focus.
    let isByKey = false;
    for (const kind of ['mousedown', 'keydown', 'focusin']) addEventListener(kind, event => { if (event.isTrusted) isByKey = kind === 'keydown'; }, { capture: true });
    // A cursor that a press, or the focus, has put into a text is nobody's choice, what is selected there is. In an editor, it is so before all
    // text, where its page puts it with the focus.
    const isNobodysChoice = field => !isByKey
        && (typeof field.select === 'function' ? field.selectionStart === field.selectionEnd : isBeforeAll(field));
    const isBeforeAll = editor => {
        const selection = editor.getRootNode().getSelection?.() ?? getSelection();
        if (!editor.isContentEditable || selection.rangeCount !== 1 || !selection.isCollapsed) return false;
        const { startContainer, startOffset } = selection.getRangeAt(0);
        if (!editor.contains(startContainer)) return false;
        const before = document.createRange();
        before.setStart(editor, 0);
        before.setEnd(startContainer, startOffset);
        return !before.toString().trim() && !!editor.textContent.trim();
    };
    // Puts the focus on a field, or on the editor that it is a part of. False if it stays elsewhere, as where a page keeps it in its dialog.
    const focusOn = element => {
        const root = element.getRootNode();
        const before = root.activeElement;
        let editor = element;
        while (editor !== document.body && editor.isContentEditable && editor.parentElement?.isContentEditable) editor = editor.parentElement;
        // The body has the focus of its document also while that has none.
        for (const field of new Set([element, editor])) if (root.activeElement !== element || element === document.body) field.focus();
        const focused = root.activeElement;
        return focused !== before || focused === editor || element.contains(focused);
    };
    // Puts the focus on an element, or on the only one in it that takes it.
    const focusIn = element => {
        element.focus();
        const focused = element.getRootNode().activeElement;
        if (focused && isWithin(focused, element)) return;
        const kinds = '[tabindex], a[href], area[href], button, input, select, textarea, summary, [contenteditable]';
        const found = [];
        for (const root of [element, element.shadowRoot]) {
            for (const node of root?.querySelectorAll(kinds) ?? []) {
                if (found.length < 2 && node.tabIndex >= 0 && !node.matches(':disabled') && isShown(node)) found.push(node);
            }
        }
        if (found.length === 1) found[0].focus();
    };
    const FIELD = ':read-write, [role=spinbutton]';
    // Gives the focus to a field in a small element, if that has no other part for it: `entered`. `press` if a press at a point of the element
    // may do that, and presses nothing else.
    const enter = (element, point) => {
        const hasField = [element, element.shadowRoot].some(root => root?.querySelector(FIELD));
        if (!hasField || element.getBoundingClientRect().height > 120) return 'none';
        focusIn(element);
        if (isEntered(element)) return 'entered';
        const hit = hitOf(element, point);
        const other = hit && isWithin(hit, element) ? otherAt(element, hit) : null;
        return isWithin(hit, element) && (!other || other.matches(FIELD)) ? 'press' : 'none';
    };
    // True if a field in an element has the focus. Its cursor is at the end then, and the element is watched.
    const isEntered = element => {
        let focused = element.getRootNode().activeElement;
        while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
        if (!focused || !isWithin(focused, element) || !focused.matches(FIELD)) return false;
        // Fields of some types let no script move it.
        try { focused.setSelectionRange?.(focused.value.length, focused.value.length); } catch {}
        watchEntry(element);
        return true;
    };
    const watchEntry = element => {
        entry?.observer.disconnect();
        const watch = { element, events: [], isChanged: false };
        // What holds no text shows the effect of keys in itself, too, such as the entry that a list goes to.
        const holdsText = element.matches('input, textarea, select') || element.isContentEditable || !!element.editContext;
        const isOther = ({ target }) => !holdsText || !isWithin(target, element);
        const note = records => { watch.isChanged ||= records.some(isOther); };
        watch.observer = new MutationObserver(note);
        watch.note = note;
        for (const root of rootsOf(element)) watch.observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: !holdsText });
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

/// Returns the number of elements that a selector, CSS or `XPath`, matches, and -1 if it is neither. Elements in open shadow trees count if there
/// are no others.
pub(super) const COUNT: &str = "selector => {
    try { return find(selector).length; } catch { return -1; }
}";

/// Functions for the scripts about selectors.
const SEARCH: &str = "
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_words_stand_in_the_core_only() {
        let sources =
            [include_str!("kept.rs"), include_str!("script.rs"), include_str!("drag.rs"), include_str!("scroll.rs")];
        for word in SECRET_WORDS {
            assert!(KEPT.contains(&format!("\"{word}\"")), "{word}");
            assert!(!sources.iter().any(|source| source.contains(word)), "{word}");
        }
    }
}
