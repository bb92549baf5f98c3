//! Look of an element besides its content: a background, a border, or the inside of a shape.

/// Maximum difference of two channels of colors that nobody tells apart.
const SAME: u8 = 10;

/// Look of an element by which nothing of it, or of what is in it, may be seen.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct Paint {
    /// Part of the light that passes through it, from 0 to 1.
    pub(super) transparency: f64,
    /// True if a change of its look takes time.
    pub(super) is_faded: bool,
    /// True if it is cut to nothing.
    pub(super) is_cut: bool,
    /// True if it is placed over what is around it.
    pub(super) is_absolute: bool,
    /// Color of its text, in the form of computed styles.
    pub(super) text_color: String,
    /// True if its background is a picture.
    pub(super) has_picture: bool,
    /// Position in the order of painting.
    pub(super) order: i64,
}

/// Returns true if the computed `clip` or `clip-path` leaves nothing of an element.
pub(super) fn is_cut(clip: &str, path: &str) -> bool {
    let numbers = |text: &str, name: &str, unit: &str| -> Option<Vec<Option<f64>>> {
        let parts = text.strip_prefix(name)?.strip_suffix(')')?.split([' ', ',']).filter(|part| !part.is_empty());
        Some(parts.map(|part| part.strip_suffix(unit)?.parse().ok()).collect())
    };
    let rect = numbers(clip, "rect(", "px");
    let is_rect_empty = matches!(
        rect.as_deref(),
        Some([Some(top), Some(right), Some(bottom), Some(left)]) if bottom <= top || right <= left
    );
    let is_inset_empty = numbers(path, "inset(", "%").is_some_and(|sides| {
        let side = |at: usize, or: usize| {
            sides.get(at).or(sides.get(or)).or(sides.first()).copied().flatten().unwrap_or_default()
        };
        side(0, 0) + side(2, 0) >= 100.0 || side(1, 0) + side(3, 1) >= 100.0
    });
    is_rect_empty || is_inset_empty || path.starts_with("circle(0px") || path.starts_with("circle(0%")
}

/// Returns true if nobody tells two computed colors apart, both of which hide what is behind them.
pub(super) fn is_same_color(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (opaque(one), opaque(other)) else { return false };
    one.iter().zip(other).all(|(one, other)| one.abs_diff(other) <= SAME)
}

/// Returns the channels of a computed color that hides what is behind it.
pub(super) fn opaque(color: &str) -> Option<[u8; 3]> {
    channels(color.strip_prefix("rgb(")?)
}

/// Returns the first three channels of a computed color, behind its opening parenthesis.
fn channels(inner: &str) -> Option<[u8; 3]> {
    let mut channels = inner.strip_suffix(')')?.split(", ").map(str::parse::<u8>);
    let mut channel = || channels.next()?.ok();
    Some([channel()?, channel()?, channel()?])
}

/// Elements that draw a shape.
pub(super) const SHAPES: &[&str] =
    &["circle", "ellipse", "image", "line", "path", "polygon", "polyline", "rect", "text"];

/// Returns true if an element with these computed styles can be seen even if it is empty.
pub(super) fn is_painted(background: &str, picture: &str, border: &str) -> bool {
    !is_transparent(background) || !matches!(picture, "none" | "") || !matches!(border, "0px" | "")
}

/// Returns a computed color that can be seen, as `#rrggbb`.
pub(super) fn hex(color: &str) -> Option<String> {
    let color = Some(color).filter(|color| !is_transparent(color))?;
    let [red, green, blue] = channels(color.strip_prefix("rgba(").or_else(|| color.strip_prefix("rgb("))?)?;
    Some(format!("#{red:02x}{green:02x}{blue:02x}"))
}

pub(super) fn is_transparent(color: &str) -> bool {
    matches!(color, "" | "none" | "transparent") || (color.starts_with("rgba(") && color.ends_with(", 0)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_leaves_nothing_if_two_opposite_sides_meet() {
        for (clip, path) in [
            ("rect(0px, 0px, 0px, 0px)", "none"),
            ("rect(1px 1px 1px 1px)", "none"),
            ("auto", "inset(50%)"),
            ("auto", "inset(100%)"),
            ("auto", "inset(0px 0px 100%)"),
            ("auto", "inset(0px 60% 0px 40%)"),
            ("auto", "circle(0px at 50% 50%)"),
        ] {
            assert!(is_cut(clip, path), "{clip} {path}");
        }
        for (clip, path) in [
            ("auto", "none"),
            ("rect(0px, 90px, 90px, 0px)", "none"),
            ("rect(auto, 0px, auto, auto)", "none"),
            ("auto", "inset(10% 20%)"),
            ("auto", "inset(0px round 50%)"),
            ("auto", "circle(40px)"),
            ("", ""),
        ] {
            assert!(!is_cut(clip, path), "{clip} {path}");
        }
    }

    #[test]
    fn colors_are_the_same_if_nobody_tells_them_apart() {
        assert!(is_same_color("rgb(255, 255, 255)", "rgb(250, 255, 251)"));
        assert!(!is_same_color("rgb(255, 255, 255)", "rgb(200, 255, 255)"));
        assert!(!is_same_color("rgb(255, 255, 255)", "rgba(255, 255, 255, 0.5)"), "what is behind it is seen");
        assert!(!is_same_color("color(srgb 1 1 1)", "color(srgb 1 1 1)"), "an unknown form");
    }
}
