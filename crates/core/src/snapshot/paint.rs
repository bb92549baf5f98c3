//! Look of an element besides its content: a background, a border, or the inside of a shape.

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
    let channels = color.strip_prefix("rgba(").or_else(|| color.strip_prefix("rgb("))?.strip_suffix(')')?;
    let mut channels = channels.split(", ").map(str::parse::<u8>);
    let mut channel = || channels.next()?.ok();
    Some(format!("#{:02x}{:02x}{:02x}", channel()?, channel()?, channel()?))
}

fn is_transparent(color: &str) -> bool {
    matches!(color, "" | "none" | "transparent") || (color.starts_with("rgba(") && color.ends_with(", 0)"))
}
