//! Things in front of others: masks and dialogs over the whole window, and elements that are drawn over a text.

use std::collections::HashMap;

use super::capture::{
    Backdrop, CapturedNode, Document, Layout, MAX_OUTER, MAX_TRANSPARENCY, OUTER, is_same_color, is_transparent, opaque,
};
use super::nodes::{Nodes, has_box};

/// Minimum height of a text that a person can read, in CSS pixels.
const MIN_TEXT: f64 = 4.0;

/// Part of a text with something of another color behind it by which a person sees that there is a text.
const MIN_BEHIND: f64 = 0.25;

/// Number of elements that are compared with texts. On a page with more, the others are read by nobody.
const MAX_COMPARED: usize = 5_000_000;

/// Elements that decide whether a person can read the texts of a document.
pub(super) struct Behind {
    /// Elements that cover all of the element around them, by that.
    covers: HashMap<usize, Vec<usize>>,
    /// Elements that draw something.
    drawn: Vec<usize>,
    /// Number of elements that may still be compared.
    left: usize,
    spans: Spans,
}

/// Places of the nodes in an order in which those in a node follow it: first its own, then that behind all that is in it.
struct Spans(Vec<(usize, usize)>);

impl Spans {
    /// Reads the nodes of a document, each of which is behind the one around it.
    fn new(nodes: &[CapturedNode]) -> Self {
        let mut sizes = vec![1; nodes.len()];
        for (position, node) in nodes.iter().enumerate().rev() {
            let size = sizes.get(position).copied().unwrap_or(1);
            if let Some(around) = node.parent.and_then(|parent| sizes.get_mut(parent)) {
                *around += size;
            }
        }
        // The next free place in each node.
        let mut free = vec![0; nodes.len()];
        let mut outside = 0;
        let mut spans = Vec::with_capacity(nodes.len());
        for (position, (node, size)) in nodes.iter().zip(&sizes).enumerate() {
            let next = node.parent.and_then(|parent| free.get_mut(parent)).unwrap_or(&mut outside);
            let begin = *next;
            *next += size;
            spans.push((begin, begin + size));
            if let Some(free) = free.get_mut(position) {
                *free = begin + 1;
            }
        }
        Self(spans)
    }

    /// Returns true if a node is in another one.
    fn is_in(&self, position: usize, around: usize) -> bool {
        let (Some((own, _)), Some((begin, end))) = (self.0.get(position), self.0.get(around)) else { return false };
        begin < own && own < end
    }
}

impl<'a> Nodes<'a> {
    /// Returns the element over the whole window in which a page shows a modal dialog that it draws itself. Nobody presses what is behind
    /// it and is hidden from assistive technologies.
    pub(super) fn overlay(&self) -> Option<usize> {
        let is_modal = |node: &CapturedNode| {
            node.tag != "dialog" && node.layout.as_ref().is_some_and(has_box) && self.says_modal(node)
        };
        let is_over_all = |node: &CapturedNode| node.layout.as_ref().is_some_and(|layout| self.is_over_all(layout));
        let mut modals = self.document.nodes.iter().enumerate().rev().filter(|(_, node)| is_modal(node));
        modals.find_map(|(position, _)| {
            let mut around = self.with_around(position);
            around.find(|position| self.node(*position).is_some_and(is_over_all))
        })
    }

    /// Notes what is behind the mask that a page draws over the whole window for a dialog of its own: nobody presses that.
    pub(super) fn add_mask(&mut self) {
        let Some((mask, order, layout)) = self.mask() else { return };
        let around: Vec<_> = self.with_around(mask).collect();
        let mut hides_rest = false;
        let is_behind = |position: usize, node: &CapturedNode| {
            let is_below = |own: &Layout| {
                own.look.order < order && (layout.look.is_fixed || own.look.is_fixed || contains(layout, own))
            };
            node.layout.as_ref().is_some_and(is_below) && !around.contains(&position)
        };
        for (position, node) in self.document.nodes.iter().enumerate() {
            if is_behind(position, node)
                && let Some(facts) = self.facts.get_mut(position)
            {
                facts.is_inert = true;
                hides_rest |= node.is_text && facts.is_aria_hidden && facts.is_visible;
            }
        }
        self.modal_order = hides_rest.then_some(order);
    }

    /// Returns true if the element is a dialog in front of the mask over the whole window, behind which its page hides everything from
    /// assistive technologies.
    pub(super) fn is_before_mask(&self, position: usize, node: &CapturedNode) -> bool {
        let facts = self.facts(position);
        let is_in_front = |order| node.layout.as_ref().is_some_and(|layout| layout.look.order >= order);
        matches!(self.role(node), "alertdialog" | "dialog")
            && self.modal_order.is_some_and(is_in_front)
            && facts.is_visible
            && !facts.is_inert
            && !facts.is_aria_hidden
    }

    /// Notes what takes no press while the pointer passes through the whole page, as long as a list of some libraries is open.
    pub(super) fn add_passed(&mut self) {
        let is_passed = |node: &CapturedNode| node.layout.as_ref().is_some_and(|layout| !layout.takes_pointer);
        let body = self.document.nodes.iter().take(MAX_OUTER).find(|node| node.tag == "body");
        if !body.is_some_and(is_passed) {
            return;
        }
        for (node, facts) in self.document.nodes.iter().zip(&mut self.facts) {
            facts.is_inert |= node.is_element && is_passed(node);
        }
    }

    /// Returns the frontmost mask over the whole window with a control in front of it, and its place in the order of painting. Without a
    /// control, it is no mask of a dialog.
    fn mask(&self) -> Option<(usize, i64, &'a Layout)> {
        let is_seen = |at: usize| self.facts(at).is_visible && self.facts(at).transparency <= MAX_TRANSPARENCY;
        let is_painted = |layout: &Layout| layout.look.has_picture || !is_transparent(&layout.color);
        let masks = self.document.nodes.iter().enumerate().filter_map(|(at, node)| {
            let layout = node.layout.as_ref().filter(|layout| node.is_element && is_painted(layout))?;
            let is_mask = self.is_over_all(layout) && is_seen(at);
            is_mask.then(|| Some((at, self.facts(at).order?, layout)))?
        });
        let (mask, order, layout) = masks.max_by_key(|(_, order, _)| *order)?;
        let is_in_front = |(at, node): (usize, &CapturedNode)| {
            // What is in it and has no place of its own is painted with it.
            let is_later = |own: &Layout| own.look.order >= order && own.takes_pointer && has_box(own);
            let takes_press = self.is_control(node) || node.input.is_clickable;
            at != mask && node.layout.as_ref().is_some_and(is_later) && is_seen(at) && takes_press
        };
        self.document.nodes.iter().enumerate().any(is_in_front).then_some((mask, order, layout))
    }

    /// Returns true if the box is over the whole window and takes the pointer there.
    fn is_over_all(&self, layout: &Layout) -> bool {
        let (width, _) = self.document.size;
        let Document { top, bottom, .. } = *self.document;
        bottom > 0.0
            && (layout.look.is_absolute || layout.look.is_fixed)
            && layout.is_visible
            && layout.takes_pointer
            && !layout.look.is_cut
            && !layout.look.has_clip_path
            && layout.x <= 0.0
            && layout.x + layout.width >= width
            && layout.y <= top
            && layout.y + layout.height >= bottom
    }

    /// Returns true if nobody can read a text, although it has a box: it is too small, has the color of what is behind it, or is covered.
    pub(super) fn is_unreadable(&self, position: usize, node: &CapturedNode, behind_texts: &mut Behind) -> bool {
        let Some(layout) = node.layout.as_ref() else { return true };
        if layout.height < MIN_TEXT && layout.height > 0.0 {
            return true;
        }
        let around = || self.around(node);
        let color = layout.look.text_color.as_str();
        let own = Some(position).filter(|_| node.is_styled);
        let background = |at: usize| {
            let layout = self.node(at)?.layout.as_ref()?;
            (layout.look.has_picture || !is_transparent(&layout.color)).then_some((at, layout))
        };
        let behind = own.into_iter().chain(around()).find_map(background);
        // The background of the page is behind all of it, and any other one hides what was painted before.
        let is_outer = |at: usize| self.node(at).is_some_and(|node| matches!(node.tag.as_str(), "html" | "body"));
        let hidden = behind.filter(|(at, _)| !is_outer(*at)).and_then(|(at, _)| self.facts(at).order);
        let behind = behind.map(|(_, layout)| layout);
        let (is_on_picture, background) = match (behind, &self.document.backdrop) {
            (Some(layout), _) => (layout.look.has_picture, layout.color.as_str()),
            (None, Backdrop::Window) => (false, "rgb(255, 255, 255)"),
            (None, Backdrop::Color(color)) => (false, color.as_str()),
            (None, Backdrop::Unknown) => (true, ""),
        };
        let is_in_drawing = node
            .parent
            .and_then(|parent| self.node(parent))
            .is_some_and(|parent| matches!(parent.tag.as_str(), "text" | "textpath" | "tspan"));
        if is_in_drawing && layout.look.has_no_ink {
            return true;
        }
        let is_like = |other: &str| is_same_color(color, other) || (is_transparent(color) && !color.is_empty());
        // The browser chooses the color of a page without a background by that of its text.
        let outer = || self.document.nodes.iter().take(MAX_OUTER).find(|node| node.tag == "html")?.layout.as_ref();
        let is_default = behind.is_none() && outer().is_some_and(|outer| is_same_color(color, &outer.look.text_color));
        let has_edges = layout.look.edge_colors.iter().any(|edge| !is_same_color(edge, background));
        if !is_on_picture && !is_in_drawing && !is_default && !has_edges && is_like(background) {
            // What the text is on may be drawn by an element beside those around it.
            let is_other = |at: &usize| {
                let Some(other) = self.node(*at) else { return false };
                let has_color =
                    |other: &Layout| other.look.has_picture || !(is_transparent(&other.color) || is_like(&other.color));
                self.facts(*at).order >= hidden
                    && other.layout.as_ref().is_some_and(|other| self.is_behind_text(*at, other, (position, layout)))
                    && (is_picture(other) || other.layout.as_ref().is_some_and(has_color))
                    && !behind_texts.spans.is_in(position, *at)
            };
            let found = behind_texts.drawn.iter().take(behind_texts.left).position(is_other);
            behind_texts.left = behind_texts.left.saturating_sub(found.unwrap_or(behind_texts.drawn.len()));
            return found.is_none();
        }
        if self.is_under_flow(position, node, layout) {
            return true;
        }
        let is_cover = |cover: &usize| {
            let cover_layout = self.node(*cover).and_then(|cover| cover.layout.as_ref());
            let is_painted_later =
                cover_layout.is_some_and(|cover| cover.look.order > layout.look.order && contains(cover, layout));
            is_painted_later && !behind_texts.spans.is_in(position, *cover)
        };
        let mut compared = 0;
        let mut covers = around().filter_map(|around| behind_texts.covers.get(&around)).flatten();
        let is_covered = covers.any(|cover| {
            compared += 1;
            compared > behind_texts.left || is_cover(cover)
        });
        behind_texts.left = behind_texts.left.saturating_sub(compared);
        is_covered
    }

    /// Returns true if a text is in an element behind the flow of its layer, and what is around that in the flow is painted over it.
    fn is_under_flow(&self, position: usize, node: &CapturedNode, text: &Layout) -> bool {
        let facts = self.facts(position);
        if !facts.is_behind_flow || facts.is_turned {
            return false;
        }
        let layout = |at: usize| self.node(at).and_then(|node| node.layout.as_ref());
        // What has the place of what is around it in the order of painting is no layer. A layer with an earlier place than one in it may keep that.
        let order_around = |at: usize| {
            let around = self.node(at).map(|node| self.around(node)).into_iter().flatten().take(MAX_OUTER);
            around.filter_map(layout).map(|around| around.look.order).next()
        };
        let mut behind: Option<i64> = None;
        let around = self.around(node).take(MAX_OUTER).filter_map(|at| Some((at, layout(at)?)));
        for (at, own) in around {
            let is_layer = order_around(at).is_some_and(|around| around != own.look.order);
            if own.look.is_behind_flow && is_layer {
                behind = Some(own.look.order);
            } else if is_layer && behind.is_some_and(|behind| own.look.order < behind) {
                behind = None;
            } else if behind.is_some() && self.hides_what_is_behind(at, own) && contains(own, text) {
                return true;
            }
        }
        false
    }

    /// Returns true if nothing of what is behind the box of an element can be seen.
    fn hides_what_is_behind(&self, position: usize, own: &Layout) -> bool {
        let is_outer = self.node(position).is_none_or(|node| OUTER.contains(&node.tag.as_str()));
        !is_outer
            && !own.is_inline
            && !own.look.has_picture
            && !own.look.is_cut
            && !own.look.has_clip_path
            && opaque(&own.color).is_some()
            && own.is_visible
            && own.look.transparency <= 0.0
    }

    /// Returns true if an element is painted before a text, behind a part of it that counts. One that stays in the window is behind all of the page
    /// in turn, and one that does so as long as what is around it, behind all of that; but not behind what stays with it.
    fn is_behind_text(&self, position: usize, own: &Layout, (text_position, text): (usize, &Layout)) -> bool {
        let facts = self.facts(position);
        let held = facts.held_by.filter(|_| self.facts(text_position).held_by != facts.held_by);
        let held = held.and_then(|held| self.node(held));
        let is_behind_it = match held.and_then(|held| Some((held, held.layout.as_ref()?))) {
            None => is_behind(own, text),
            Some((_, layout)) if layout.look.is_fixed => is_behind(&between(own, text), text),
            Some((held, _)) => {
                let around = held.parent.and_then(|parent| self.node(parent)?.layout.as_ref());
                is_behind(&between(own, around.unwrap_or(own)), text)
            }
        };
        is_behind_it && facts.order.is_none_or(|order| order <= text.look.order)
    }

    /// Returns the elements that decide whether a person can read the texts.
    pub(super) fn behind(&self) -> Behind {
        let mut covers: HashMap<usize, Vec<usize>> = HashMap::new();
        for (parent, cover) in self.covers() {
            covers.entry(parent).or_default().push(cover);
        }
        let is_drawn = |node: &CapturedNode| {
            let has_color = |layout: &Layout| layout.look.has_picture || !is_transparent(&layout.color);
            !node.is_text && (is_picture(node) || node.layout.as_ref().is_some_and(has_color))
        };
        let is_seen = |position: usize, node: &CapturedNode| {
            let facts = self.facts(position);
            !facts.is_cut_off()
                && facts.transparency <= MAX_TRANSPARENCY
                && node.layout.as_ref().is_some_and(|layout| layout.is_visible)
        };
        let nodes = self.document.nodes.iter().enumerate();
        let drawn = nodes.filter(|(position, node)| is_drawn(node) && is_seen(*position, node));
        let drawn = drawn.map(|(position, _)| position).collect();
        Behind { covers, drawn, left: MAX_COMPARED, spans: Spans::new(&self.document.nodes) }
    }

    /// Returns the elements that cover all of the element around them, each behind that.
    fn covers(&self) -> Vec<(usize, usize)> {
        let nodes = self.document.nodes.iter().enumerate();
        let cover = |(position, node): (usize, &CapturedNode)| {
            let (parent, layout) = (node.parent?, node.layout.as_ref()?);
            let around = self.node(parent)?;
            let is_cover = layout.look.is_absolute
                && !layout.look.is_cut
                && !layout.look.has_clip_path
                && (node.is_opaque_frame || opaque(&layout.color).is_some())
                && layout.is_visible
                && layout.look.transparency <= 0.0
                && !matches!(around.tag.as_str(), "html" | "body")
                && contains(layout, around.layout.as_ref()?);
            is_cover.then_some((parent, position))
        };
        nodes.filter_map(cover).collect()
    }
}

/// Returns true if the element draws a picture.
fn is_picture(node: &CapturedNode) -> bool {
    matches!(node.tag.as_str(), "img" | "canvas" | "video" | "svg" | "iframe" | "picture")
}

/// Returns the box between the left and right edges of one and the upper and lower edges of another one.
fn between(one: &Layout, other: &Layout) -> Layout {
    Layout { x: one.x, width: one.width, y: other.y, height: other.height, ..Layout::default() }
}

/// Returns true if a box has as much of a text in it as a person needs to see that there is one.
fn is_behind(one: &Layout, text: &Layout) -> bool {
    let shared = |begin: f64, end: f64, other_begin: f64, other_end: f64| end.min(other_end) - begin.max(other_begin);
    let width = shared(one.x, one.x + one.width, text.x, text.x + text.width);
    let height = shared(one.y, one.y + one.height, text.y, text.y + text.height);
    width > 0.0 && height > 0.0 && width * height >= text.width * text.height * MIN_BEHIND
}

/// Returns true if two boxes have a part in common.
pub(super) fn is_over(one: &Layout, other: &Layout) -> bool {
    one.x < other.x + other.width
        && other.x < one.x + one.width
        && one.y < other.y + other.height
        && other.y < one.y + one.height
}

/// Returns true if the other box is in the one.
fn contains(one: &Layout, other: &Layout) -> bool {
    one.x <= other.x
        && one.y <= other.y
        && one.x + one.width >= other.x + other.width
        && one.y + one.height >= other.y + other.height
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn node_is_in_those_around_it(parents in proptest::collection::vec(0_usize..12, 0..24)) {
            let parent = |(position, parent): (usize, usize)| Some(parent).filter(|parent| *parent < position);
            let mut nodes = vec![CapturedNode::default(); parents.len()];
            for (node, own) in nodes.iter_mut().zip(parents.into_iter().enumerate()) {
                node.parent = parent(own);
            }
            let spans = Spans::new(&nodes);
            for position in 0..nodes.len() {
                let around = |at: &usize| nodes[*at].parent;
                let around: Vec<_> = std::iter::successors(around(&position), around).collect();
                for other in 0..nodes.len() {
                    proptest::prop_assert_eq!(spans.is_in(position, other), around.contains(&other));
                }
            }
        }
    }
}
