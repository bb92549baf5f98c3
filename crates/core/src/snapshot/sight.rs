//! Parts of a page in which what is in an element is shown: styles hide what is outside of a box, and cut elements to shapes.
//!
//! Chromium reports the room that a box takes in the document, which is larger than the box where that is turned. Boxes are compared along the
//! sides of the innermost turned element around them. What cannot be compared so is shown.

use super::capture::{CapturedNode, Layout, OUTER};
use super::shapes::Orientation;

/// Elements that are boxes in a line of text, whatever their style says.
const BOXES_IN_TEXT: &[&str] = &["canvas", "embed", "iframe", "img", "object", "svg", "video"];

/// Maximum width and height, in CSS pixels, of a box of one pixel that is drawn larger, and shows nothing.
const MAX_DOT: f64 = 3.9;

/// Inaccuracy of edges that are turned or drawn larger, in CSS pixels.
const BLUR: f64 = 0.1;

/// Part of a box that a shape leaves, at most, if nobody can scroll through it what is in the box.
const MAX_HOLE: f64 = 0.125;

/// Left, upper, right and lower edge.
type Edges = [f64; 4];

/// Part of a page outside of which something is not shown.
#[derive(Clone, Copy, Debug)]
struct ShownArea {
    /// Turned element along whose sides the edges are; along those of the document without one.
    axes: Option<usize>,
    edges: Edges,
}

impl ShownArea {
    const ALL: Self = Self { axes: None, edges: [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY] };

    const NOTHING: Self =
        Self { axes: None, edges: [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY] };

    const fn is_empty(&self) -> bool {
        let [left, top, right, bottom] = self.edges;
        left >= right || top >= bottom
    }

    /// Returns true if a part of the box with these edges is in it.
    fn has(&self, [left, top, right, bottom]: Edges) -> bool {
        // Where boxes meet, their edges may differ by a part of a pixel.
        let is_between = |(begin, end): (f64, f64), (from, to): (f64, f64)| {
            let edge = ((end - begin) / 2.0).min(1.0);
            end <= begin || (begin + edge < to && end - edge > from)
        };
        let [own_left, own_top, own_right, own_bottom] = self.edges;
        is_between((left, right), (own_left, own_right)) && is_between((top, bottom), (own_top, own_bottom))
    }

    /// Returns the part of it that is in another one.
    const fn cut_to(self, inner: Self) -> Self {
        let ([left, top, right, bottom], [x, y, to_x, to_y]) = (self.edges, inner.edges);
        Self { axes: inner.axes, edges: [left.max(x), top.max(y), right.min(to_x), bottom.min(to_y)] }
    }

    /// Returns it without the edges at the sides, or those above and below.
    const fn opened(self, sides: bool, ends: bool) -> Self {
        let [left, top, right, bottom] = self.edges;
        let (left, right) = if sides { (f64::NEG_INFINITY, f64::INFINITY) } else { (left, right) };
        let (top, bottom) = if ends { (f64::NEG_INFINITY, f64::INFINITY) } else { (top, bottom) };
        Self { edges: [left, top, right, bottom], ..self }
    }
}

/// Sight of an element: if it is shown where it is, and where that is shown which is in it.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct Sight {
    /// True if what is around it does not show it, as a carousel its next slide.
    pub(super) is_beside: bool,
    /// True if nothing of what is in it is shown.
    pub(super) shows_nothing: bool,
    /// True if it is too small to show anything, or a shape leaves nothing of it.
    pub(super) is_cut: bool,
    /// Part in which that is shown which flows in it.
    flow: ShownArea,
    /// Part in which that is shown which is placed in it.
    placed: ShownArea,
    /// Part that shapes leave of all that is in it.
    shape: ShownArea,
    /// Innermost turned element that it is in, or is itself.
    axes: Option<usize>,
    /// Directions of that in the document, if they are known.
    base: Option<Orientation>,
    /// Its own directions in that, which are straight, if they are known.
    inner: Option<Orientation>,
    /// Size of a pixel by `zoom`.
    zoom: f64,
    /// Size that a box of one pixel has in the document, at most.
    dot: f64,
    /// True if it, or an element around it, listens to the wheel.
    is_wheeled: bool,
}

impl Default for Sight {
    fn default() -> Self {
        Self {
            is_beside: false,
            shows_nothing: false,
            is_cut: false,
            flow: ShownArea::ALL,
            placed: ShownArea::ALL,
            shape: ShownArea::ALL,
            axes: None,
            base: Some(Orientation::default()),
            inner: Some(Orientation::default()),
            zoom: 1.0,
            dot: 1.0,
            is_wheeled: false,
        }
    }
}

impl Sight {
    /// Returns the sight of a node in an element with this one. What is above or below a box is hidden if that has this height at most.
    pub(super) fn inside(&self, position: usize, node: &CapturedNode, max_height: f64) -> Self {
        let outer = Self { shows_nothing: false, is_cut: false, ..*self };
        let Some(layout) = &node.layout else { return outer };
        let look = &layout.look;
        let is_outer = OUTER.contains(&node.tag.as_str());
        let is_in_text = layout.is_inline && !layout.is_inline_box && !BOXES_IN_TEXT.contains(&node.tag.as_str());
        let is_line = node.is_text || is_in_text;
        let own = look.turned.as_deref().copied().filter(|_| !is_line).unwrap_or_default();
        let is_known = is_line || !look.is_turned_somehow;

        let area = match (look.is_fixed, look.is_absolute) {
            (true, _) => ShownArea::ALL,
            (_, true) => self.placed,
            _ => self.flow,
        };
        // What moves may be about to come.
        let is_moved = !is_line && (look.is_animated || look.is_faded && (look.holds_fixed || look.is_positioned));
        let area = area.opened(false, is_moved && !area.is_empty());
        // The room of what is in several lines is none of a box.
        let is_in_lines = self.axes.is_some() && (is_in_text || node.ends.is_some());
        let edges = self.edges(layout, own);
        let is_shown = |area: &ShownArea| self.is_shown(area, layout, edges);
        let is_beside = if is_in_lines { self.is_beside } else { !is_shown(&area) || !is_shown(&self.shape) };

        let zoom = if look.zoom > 0.0 { look.zoom } else { 1.0 };
        let [across, down] = own.room([1.0, 1.0]);
        let mut inside = Self {
            is_beside,
            zoom: self.zoom * zoom,
            dot: self.dot * zoom * across.max(down),
            is_wheeled: self.is_wheeled || node.is_element && !is_outer && node.input.is_wheeled,
            ..outer
        };
        inside.turn(position, own, is_known);
        if is_line {
            inside.placed = if look.is_positioned { area } else { self.placed };
            return inside;
        }
        let own_edges = if inside.axes == self.axes { edges } else { inside.edges(layout, Orientation::default()) };
        let [left, top, right, bottom] = own_edges.unwrap_or(document_edges(layout));
        let (width, height) = (right - left, bottom - top);
        let blur = if inside.axes.is_some() || inside.dot > 1.0 { BLUR } else { 0.0 };
        let is_dot = width.max(height) <= inside.dot.clamp(1.0, MAX_DOT) + blur;
        let is_clipped = layout.is_clipped && !is_outer;
        inside.shows_nothing = is_clipped && (width <= blur || height <= blur || is_dot);
        inside.is_cut = is_clipped && is_dot;
        inside.flow = if is_outer { area } else { inside.overflow(area, layout, own_edges, height <= max_height) };
        if look.is_positioned {
            inside.placed = inside.flow;
        }
        if !is_outer {
            inside.cut(layout, own_edges);
        }
        // A drawing has a scale of its own.
        inside.inner = inside.inner.filter(|_| node.tag != "svg");
        inside
    }

    /// Returns true if it, or an element around it, may be turned.
    pub(super) const fn is_turned(&self) -> bool {
        self.axes.is_some() || self.inner.is_none()
    }

    /// Notes the directions of an element by its own ones.
    fn turn(&mut self, position: usize, own: Orientation, is_known: bool) {
        let inner = self.inner.filter(|_| is_known).map(|inner| inner.with(own));
        if own.is_upright() && (is_known || self.axes.is_none()) {
            self.inner = inner;
        } else {
            self.base = self.base.zip(inner).map(|(base, inner)| base.with(inner));
            self.inner = self.base.map(|_| Orientation::default());
            self.axes = Some(position);
        }
    }

    /// Returns the edges of a box in it, which has these directions there, along the sides of the innermost turned element.
    fn edges(&self, layout: &Layout, own: Orientation) -> Option<Edges> {
        if self.axes.is_none() {
            return Some(document_edges(layout));
        }
        let (base, room) = (self.base?, [layout.width, layout.height]);
        let [width, height] = if own.is_upright() {
            base.size(room)?
        } else {
            let all = self.inner?.with(own);
            all.room(base.with(all).size(room)?)
        };
        let [x, y] = base.step([layout.x + layout.width / 2.0, layout.y + layout.height / 2.0])?;
        Some([x - width / 2.0, y - height / 2.0, x + width / 2.0, y + height / 2.0])
    }

    /// Returns true if a part of a box with these edges in it is in an area.
    fn is_shown(&self, area: &ShownArea, layout: &Layout, edges: Option<Edges>) -> bool {
        !area.is_empty()
            && match area.axes {
                None => area.has(document_edges(layout)),
                axes if axes == self.axes => edges.is_none_or(|edges| area.has(edges)),
                Some(_) => true,
            }
    }

    /// Returns true if the edges of an area are along the sides of the innermost turned element.
    fn is_along(&self, area: &ShownArea) -> bool {
        area.axes == self.axes || area.edges.iter().all(|edge| edge.is_infinite())
    }

    /// Returns the part of an area in which that is shown which flows in an element with these edges.
    fn overflow(&self, area: ShownArea, layout: &Layout, edges: Option<Edges>, is_low: bool) -> ShownArea {
        if self.shows_nothing {
            return ShownArea::NOTHING;
        }
        // A page may open it little by little, or scroll it by a script.
        let is_fixed = is_low && !self.is_wheeled && !layout.look.is_faded && !layout.look.is_animated;
        let hides_ends = layout.hides_ends && is_fixed;
        let is_along = self.is_along(&area);
        let area = if !layout.is_scroller || self.is_beside {
            area
        } else if is_along {
            area.opened(!layout.hides_sides, !layout.hides_ends)
        } else {
            ShownArea::ALL
        };
        let Some(edges) = edges.filter(|_| layout.hides_sides || hides_ends) else { return area };
        let own = ShownArea { axes: self.axes, edges }.opened(!layout.hides_sides, !hides_ends);
        self.cut_area(area, own)
    }

    /// Returns the part of an area that is in another one, which is along the sides of the innermost turned element.
    fn cut_area(&self, area: ShownArea, own: ShownArea) -> ShownArea {
        if self.is_along(&area) {
            area.cut_to(own)
        } else if self.is_beside {
            ShownArea::NOTHING
        } else {
            own
        }
    }

    /// Notes the part that the shape of an element with these edges leaves of what is in it.
    fn cut(&mut self, layout: &Layout, edges: Option<Edges>) {
        let scrolls = layout.is_scroller && !self.is_beside && !self.shape.is_empty();
        if scrolls {
            let is_along = self.is_along(&self.shape);
            let opened = self.shape.opened(!layout.hides_sides, !layout.hides_ends);
            self.shape = if is_along { opened } else { ShownArea::ALL };
        }
        let shape = layout.look.clip_shape.as_deref().filter(|_| !layout.look.is_animated);
        let pixel = self.inner.and_then(Orientation::pixel).map(|pixel| pixel * self.zoom);
        let (Some(shape), Some([left, top, right, bottom]), Some(pixel)) = (shape, edges, pixel) else { return };
        let (width, height) = (right - left, bottom - top);
        let [x, y, to_x, to_y] = shape.edges(width, height, pixel);
        let own = ShownArea { axes: self.axes, edges: [left + x, top + y, left + to_x, top + to_y] };
        self.is_cut |= own.is_empty();
        let is_hole = (to_x - x) * (to_y - y) <= MAX_HOLE * width * height;
        if is_hole || !layout.is_scroller {
            self.shape = self.cut_area(self.shape, own);
        }
    }
}

/// Returns the edges of the room that a box takes in the document.
fn document_edges(layout: &Layout) -> Edges {
    [layout.x, layout.y, layout.x + layout.width, layout.y + layout.height]
}
