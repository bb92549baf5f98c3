//! Scrolling of a page, and the wheel of the pointer.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::Edge;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::gate::element::find::{evaluate, evaluate_promise};
use crate::gate::element::handle::{ElementHandle, ElementView};
use crate::gate::element::kept::{call_with_kept, with_kept};
use crate::gate::element::located::{ElementError, in_world, world};
use crate::gate::page::World;
use crate::gate::session::GateSession;
use browser_shell_cdp::protocol::DebugSessionId;

/// Returns the function of an element that scrolls the nearest box from it on, around it, that scrolls in a direction, and returns `moved`, or
/// `still` if that did not move. It returns `none` if there is no such box, and `hidden` if the element itself is one that no wheel of a person
/// scrolls; the next turn of the wheel is watched then.
fn scroll() -> String {
    format!(
        "function (right, down) {{
    {EDGES}
    const edge = down ? 'bottom' : 'right';
    const isOne = (box, kinds) => rangeOf(box, edge) > 0 && scrolls(box, edge, kinds);
    let box = this === document.body || this === document.documentElement ? page : this;
    const isHidden = box !== page && isOne(box, ['hidden']);
    while (!isHidden && box && !isOne(box, BOXES)) box = parentOf(box);
    if (!box || isHidden) {{
        {WATCH_WHEEL}
        {PLACES}
        if (isHidden) wheel.places = places(this);
        return isHidden ? 'hidden' : 'none';
    }}
    {MOVES}
    return moves(box, right, down) ? 'moved' : 'still';
}}"
    )
}

/// Returns the function of an element that scrolls it at once, also one that no wheel scrolls, and returns whether it moved.
fn scroll_hidden() -> String {
    format!("function (right, down) {{ {MOVES} return moves(this, right, down); }}")
}

/// Returns the function of an element that returns true if the page has taken the turn of the wheel that was watched, or has moved what is in
/// the element.
fn wheel_taken_in() -> String {
    format!(
        "function () {{
    {PLACES}
    const wheel = globalThis[Symbol.for('wheel')];
    return new Promise(end => setTimeout(() => end(wheel?.isTaken === true || places(this) !== wheel?.places), 100));
}}"
    )
}

/// Function that returns where the first parts of an element are in it.
const PLACES: &str = "
    const places = element => {
        const around = element.getBoundingClientRect();
        const parts = element.getElementsByTagName('*');
        const boxes = Array.from({ length: Math.min(parts.length, 20) }, (_, index) => parts[index].getBoundingClientRect());
        return String(boxes.map(({ left, top }) => [left - around.left, top - around.top].map(Math.round)));
    };
";

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
fn scroll_page() -> String {
    format!(
        "(right, down) => {{
    const middle = [innerWidth / 2, innerHeight / 2];
    let box = document.elementFromPoint(...middle) ?? document.documentElement;
    for (let inner = box.shadowRoot?.elementFromPoint(...middle); inner && inner !== box; inner = box.shadowRoot?.elementFromPoint(...middle)) box = inner;
    {MOVES}
    {EDGES}
    const edge = down ? 'bottom' : 'right';
    for (; box; box = parentOf(box)) {{
        if (scrolls(box, edge, BOXES) && moves(box, right, down)) return null;
    }}
    // A page that a dialog locks does not scroll.
    if (scrolls(page, edge, BOXES) && moves(page, right, down)) return null;
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
fn scroll_to_edge() -> String {
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
fn scroll_page_to_edge() -> String {
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

/// Returns true if the page has taken the turn of the wheel that was watched.
const WHEEL_TAKEN: &str =
    "() => new Promise(end => setTimeout(() => end(globalThis[Symbol.for('wheel')]?.isTaken === true), 50))";

/// Watches the next scroll of a frame's document or of a box in it, for [`FRAME_SCROLLED`].
const WATCH_FRAME: &str = "() => {
    const scroll = globalThis[Symbol.for('scroll')] = { isSeen: false };
    addEventListener('scroll', () => { scroll.isSeen = true; }, { capture: true, once: true, passive: true });
}";

/// Returns true if the frame has scrolled since then.
const FRAME_SCROLLED: &str =
    "() => new Promise(end => setTimeout(() => end(globalThis[Symbol.for('scroll')]?.isSeen === true), 100))";

/// Events by which a page takes a turn of the wheel.
const WHEELS: &[&str] = &["DOMMouseScroll", "mousewheel", "wheel"];

/// Number of frames that are watched for a scroll.
const MAX_FRAMES: usize = 20;

/// Place of what has scrolled to an edge: how far it has scrolled, and how far it is from its top or its left then, in CSS pixels.
type Scrolled = (u64, u64);

impl GateSession {
    /// Scrolls the nearest box in the middle of the active tab that scrolls, and returns the data of the answer. If none does, the wheel is turned
    /// there, which maps and other pages take.
    ///
    /// # Errors
    ///
    /// The refusal of a page on which nothing scrolls in this direction.
    pub async fn scroll(&self, right: i32, down: i32) -> Result<Value, Decision> {
        let (browser, page) = &self.active()?;
        let scroll = &call_with_kept(&scroll_page(), &format!("{right}, {down}"));
        let scrolled = |world| async move { evaluate(browser, &page.session, &world, scroll, true).await };
        let (answer, world) = in_world(browser, page, scrolled).await?;
        let middle: Option<(f64, f64)> = answer.into_value().ok_or(ElementError::Unreadable)?;
        if let Some(middle) = middle {
            let frames = self.watch_frames().await?;
            self.turn_wheel(middle, (right, down)).await?;
            let taken = call_with_kept(WHEEL_TAKEN, "");
            let taken = evaluate_promise(browser, &page.session, &world, &taken).await?;
            if taken.into_value() != Some(true) && !self.has_scrolled(&frames).await? {
                return Err(nothing_scrolls((right, down)));
            }
        }
        Ok(json!({ "scrolled": true }))
    }

    /// Watches the frames of the active tab: a turn of the wheel over one is for what is in it.
    async fn watch_frames(&self) -> Result<Vec<(DebugSessionId, World)>, ElementError> {
        let (browser, page) = &self.active()?;
        let script = &call_with_kept(WATCH_FRAME, "");
        let frames = page.documents().into_iter().filter(|document| document.frame != page.frame).take(MAX_FRAMES);
        // A frame may go meanwhile.
        let watched = join_all(frames.map(|document| async move {
            let inner = world(browser, &document.session, &document.frame).await.ok()?;
            evaluate(browser, &document.session, &inner, script, true).await.ok()?;
            Some((document.session, inner))
        }));
        Ok(watched.await.into_iter().flatten().collect())
    }

    /// Returns true if one of these frames has scrolled.
    async fn has_scrolled(&self, frames: &[(DebugSessionId, World)]) -> Result<bool, ElementError> {
        let (browser, _) = &self.active()?;
        let script = &call_with_kept(FRAME_SCROLLED, "");
        let seen = frames.iter().map(|(session, inner)| evaluate_promise(browser, session, inner, script));
        let seen = join_all(seen).await.into_iter().flatten();
        Ok(seen.into_iter().any(|seen| seen.into_value() == Some(true)))
    }

    /// Scrolls the active tab to an edge, and returns the data of the answer.
    ///
    /// # Errors
    ///
    /// The refusal of a page that does not scroll in this direction.
    pub async fn scroll_to(&self, edge: Edge) -> Result<Value, Decision> {
        let (browser, page) = &self.active()?;
        let scroll = &call_with_kept(&scroll_page_to_edge(), &json!(edge.as_str()).to_string());
        let scrolled = |world| async move { evaluate(browser, &page.session, &world, scroll, true).await };
        let (answer, _) = in_world(browser, page, scrolled).await?;
        let scrolled: Option<Scrolled> = answer.into_value().ok_or(ElementError::Unreadable)?;
        let way = match edge {
            Edge::Top | Edge::Bottom => "up or down",
            Edge::Left | Edge::Right => "left or right",
        };
        let refused = || {
            Decision::new(
                Code::NoEffect,
                format!("nothing scrolls {way} here; `scroll` without `--to` turns the wheel"),
            )
        };
        Ok(answer_at(edge, scrolled.ok_or_else(refused)?))
    }
}

impl ElementHandle {
    /// Scrolls the nearest box from the element on, around it, that scrolls in a direction. If there is none, the wheel is turned on the element.
    ///
    /// # Errors
    ///
    /// The refusal of an element on which nothing scrolls in this direction.
    pub(super) async fn scroll(&self, (right, down): (i32, i32)) -> Result<(), Decision> {
        let by = [right.into(), down.into()];
        let scrolled: String = self.element.call(&with_kept(&scroll()), &by).await?;
        let moved = match scrolled.as_str() {
            "none" => {
                let frames = self.turn_wheel((right, down)).await?;
                self.element.call_promise(&with_kept(WHEEL_TAKEN)).await? || self.gate.has_scrolled(&frames).await?
            }
            "hidden" => self.turns((right, down)).await? || self.element.call(&scroll_hidden(), &by).await?,
            moved => moved == "moved",
        };
        if moved { Ok(()) } else { Err(nothing_scrolls((right, down))) }
    }

    /// Turns the wheel on the element. Returns the frames that are watched for a scroll.
    async fn turn_wheel(&self, by: (i32, i32)) -> Result<Vec<(DebugSessionId, World)>, Decision> {
        let view = self.view_in_viewport().await?;
        let frames = self.gate.watch_frames().await?;
        self.gate.turn_wheel(view.point, by).await?;
        Ok(frames)
    }

    /// Turns the wheel on the element, if that listens for it, and returns true if its page takes that.
    async fn turns(&self, by: (i32, i32)) -> Result<bool, Decision> {
        if !self.element.listens(WHEELS, &[]).await? {
            return Ok(false);
        }
        self.turn_wheel(by).await?;
        Ok(self.element.call_promise(&with_kept(&wheel_taken_in())).await?)
    }

    /// Scrolls the element to an edge, and returns the data of the answer.
    ///
    /// # Errors
    ///
    /// The refusal of an element that does not scroll in this direction.
    pub(super) async fn scroll_to(&self, edge: Edge, view: &ElementView) -> Result<Value, Decision> {
        let scrolled: Option<Scrolled> =
            self.element.call(&with_kept(&scroll_to_edge()), &[edge.as_str().into()]).await?;
        let what = view.state.description();
        let refused =
            || Decision::new(Code::NoEffect, format!("the `{what}` does not scroll; name the element that does"));
        Ok(answer_at(edge, scrolled.ok_or_else(refused)?))
    }
}

/// Returns the refusal of a scroll in a direction in which nothing moves.
fn nothing_scrolls((right, down): (i32, i32)) -> Decision {
    let direction = match (right, down) {
        (0, ..0) => "up",
        (0, _) => "down",
        (..0, _) => "left",
        _ => "right",
    };
    Decision::new(Code::NoEffect, format!("nothing scrolls {direction} here; it may be at its end"))
}

fn answer_at(edge: Edge, (moved, position): Scrolled) -> Value {
    json!({ "scrolled": true, "edge": edge.as_str(), "moved": moved, "position": position })
}
