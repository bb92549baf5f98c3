//! Shapes to which styles cut an element, and directions to which they turn it.

/// Maximum length of a `clip-path` that is read, in bytes: each node may have a long one.
const MAX_SHAPE: usize = 500;

/// Length of a computed style: a part of a whole, and pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ShapeLength {
    part: f64,
    pixels: f64,
}

impl ShapeLength {
    const HALF: Self = Self { part: 0.5, pixels: 0.0 };

    fn parse(text: &str) -> Option<Self> {
        let term = |text: &str| {
            let number = |unit: &str| text.strip_suffix(unit)?.parse::<f64>().ok().filter(|number| number.is_finite());
            let part = number("%").map(|part| Self { part: part / 100.0, pixels: 0.0 });
            part.or_else(|| number("px").map(|pixels| Self { part: 0.0, pixels }))
        };
        let Some(sum) = text.strip_prefix("calc(").and_then(|sum| sum.strip_suffix(')')) else { return term(text) };
        let mut terms = sum.split(' ');
        let mut all = term(terms.next()?)?;
        while let Some(sign) = terms.next() {
            let sign = match sign {
                "+" => 1.0,
                "-" => -1.0,
                _ => return None,
            };
            let next = term(terms.next()?)?;
            all = Self { part: all.part + sign * next.part, pixels: all.pixels + sign * next.pixels };
        }
        Some(all)
    }

    /// Returns the length for a whole, where a pixel is as large as that.
    fn of(self, whole: f64, pixel: f64) -> f64 {
        self.part * whole + self.pixels * pixel
    }
}

/// Shape to which a computed `clip-path` cuts an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ClipShape {
    /// Circle with a radius and a middle.
    Circle(ShapeLength, [ShapeLength; 2]),
    /// Ellipse with two radii and a middle.
    Ellipse([ShapeLength; 2], [ShapeLength; 2]),
    /// Rest between distances from the sides: above, at the right, below, and at the left.
    Inset([ShapeLength; 4]),
    /// Corners.
    Polygon(Vec<[ShapeLength; 2]>),
}

impl ClipShape {
    /// Reads a computed `clip-path`. Returns `None` for one that leaves all, or that is not known.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let path = Some(path).filter(|path| path.len() <= MAX_SHAPE)?;
        let (name, inner) = path.strip_suffix(')')?.split_once('(')?;
        let (size, place) = match inner.split_once("at ") {
            Some((size, place)) => (size.trim_end(), pair(place)?),
            None => (inner, [ShapeLength::HALF; 2]),
        };
        match name {
            "circle" => Some(Self::Circle(ShapeLength::parse(size)?, place)),
            "ellipse" => Some(Self::Ellipse(pair(size)?, place)),
            "inset" => {
                let sides = inner.split_once(" round ").map_or(inner, |(sides, _)| sides);
                let sides: Option<Vec<_>> = parts(sides, ' ').into_iter().map(ShapeLength::parse).collect();
                let sides = match *sides?.as_slice() {
                    [all] => [all; 4],
                    [ends, sides] => [ends, sides, ends, sides],
                    [top, sides, bottom] => [top, sides, bottom, sides],
                    [top, right, bottom, left] => [top, right, bottom, left],
                    _ => return None,
                };
                Some(Self::Inset(sides))
            }
            "polygon" => {
                let corners = parts(inner, ',').into_iter().filter(|corner| !matches!(*corner, "evenodd" | "nonzero"));
                corners.map(pair).collect::<Option<Vec<_>>>().map(Self::Polygon)
            }
            _ => None,
        }
    }

    /// Returns the left, the upper, the right and the lower edge of the shape in a box of that size, where a pixel is as large as that.
    pub(super) fn edges(&self, width: f64, height: f64, pixel: f64) -> [f64; 4] {
        let x = |at: ShapeLength| at.of(width, pixel);
        let y = |at: ShapeLength| at.of(height, pixel);
        match self {
            Self::Circle(radius, [left, top]) => {
                let radius = radius.of(width.hypot(height) / std::f64::consts::SQRT_2, pixel).max(0.0);
                let (left, top) = (x(*left), y(*top));
                [left - radius, top - radius, left + radius, top + radius]
            }
            Self::Ellipse([wide, high], [left, top]) => {
                let (wide, high) = (x(*wide).max(0.0), y(*high).max(0.0));
                let (left, top) = (x(*left), y(*top));
                [left - wide, top - high, left + wide, top + high]
            }
            Self::Inset([top, right, bottom, left]) => [x(*left), y(*top), width - x(*right), height - y(*bottom)],
            Self::Polygon(corners) => {
                let none = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
                corners.iter().fold(none, |[left, top, right, bottom], [at_x, at_y]| {
                    let (x, y) = (x(*at_x), y(*at_y));
                    [left.min(x), top.min(y), right.max(x), bottom.max(y)]
                })
            }
        }
    }
}

/// Returns the parts of a computed style between separators that are in no parentheses.
fn parts(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_end = |c: char| {
        depth = match c {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0 && c == separator
    };
    text.split(is_end).map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Reads two lengths.
fn pair(text: &str) -> Option<[ShapeLength; 2]> {
    match *parts(text, ' ').as_slice() {
        [x, y] => Some([ShapeLength::parse(x)?, ShapeLength::parse(y)?]),
        _ => None,
    }
}

/// Difference of directions that are the same.
const STRAIGHT: f64 = 1e-4;

/// Part of a box by which its sides have to differ where it is turned, for its own size to be told from the room that it takes.
const MIN_TURNED: f64 = 0.3;

/// Directions of an element in the plane of what is around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Orientation {
    /// Place of a step to the right in it.
    right: [f64; 2],
    /// Place of a step down in it.
    down: [f64; 2],
}

impl Default for Orientation {
    fn default() -> Self {
        Self { right: [1.0, 0.0], down: [0.0, 1.0] }
    }
}

impl Orientation {
    /// Returns that of an element with these computed styles, `None` if it is not known.
    pub(super) fn of(transform: &str, rotate: &str, scale: &str) -> Option<Self> {
        let is_none = |style: &str| matches!(style, "none" | "");
        let turned = if is_none(rotate) {
            Self::default()
        } else {
            let (sin, cos) = rotate.strip_suffix("deg")?.parse::<f64>().ok()?.to_radians().sin_cos();
            Self { right: [cos, sin], down: [-sin, cos] }
        };
        let sized = if is_none(scale) {
            Self::default()
        } else {
            let sizes: Option<Vec<f64>> = scale.split(' ').map(|size| size.parse().ok()).collect();
            match *sizes?.as_slice() {
                [both] => Self { right: [both, 0.0], down: [0.0, both] },
                [x, y] => Self { right: [x, 0.0], down: [0.0, y] },
                _ => return None,
            }
        };
        let own = if is_none(transform) {
            Self::default()
        } else {
            let numbers = transform.strip_prefix("matrix(")?.strip_suffix(')')?.split(", ");
            let numbers: Option<Vec<f64>> = numbers.map(|number| number.parse().ok()).collect();
            match *numbers?.as_slice() {
                [a, b, c, d, _, _] => Self { right: [a, b], down: [c, d] },
                _ => return None,
            }
        };
        let all = turned.with(sized).with(own);
        all.right.iter().chain(&all.down).all(|number| number.is_finite()).then_some(all)
    }

    /// Returns the directions of what has these in an element with the own ones.
    pub(super) fn with(self, inner: Self) -> Self {
        Self { right: self.place(inner.right), down: self.place(inner.down) }
    }

    /// Returns where a step in it leads to.
    fn place(self, [x, y]: [f64; 2]) -> [f64; 2] {
        let sum = |right: f64, down: f64| right * x + down * y;
        [sum(self.right[0], self.down[0]), sum(self.right[1], self.down[1])]
    }

    /// Returns the step in it that leads to a place.
    pub(super) fn step(self, place: [f64; 2]) -> Option<[f64; 2]> {
        let cross = |one: [f64; 2], other: [f64; 2]| one[0] * other[1] - one[1] * other[0];
        let size = cross(self.right, self.down);
        (size.abs() > 1e-9).then(|| [cross(place, self.down) / size, cross(self.right, place) / size])
    }

    /// Returns true if its sides are straight up and down.
    pub(super) fn is_upright(self) -> bool {
        let ([a, b], [c, d]) = (self.right, self.down);
        b.abs() + c.abs() <= STRAIGHT * (a.abs() + d.abs())
    }

    /// Returns the size of a pixel in it, if that is the same in both directions and it is not mirrored.
    pub(super) fn pixel(self) -> Option<f64> {
        let ([a, b], [c, d]) = (self.right, self.down);
        let is_same = (a - d).abs() + (b + c).abs() <= STRAIGHT * (a.abs() + b.abs());
        (is_same && (a > 0.0 || !self.is_upright())).then(|| a.hypot(b))
    }

    /// Returns the width and height of the room that a box of this size in it takes.
    pub(super) fn room(self, [width, height]: [f64; 2]) -> [f64; 2] {
        let ([a, b], [c, d]) = (self.right, self.down);
        [a.abs() * width + c.abs() * height, b.abs() * width + d.abs() * height]
    }

    /// Returns the size of the box in it that takes a room of this width and height. Where it is turned by about an eighth, boxes of other
    /// sizes take the same.
    pub(super) fn size(self, [width, height]: [f64; 2]) -> Option<[f64; 2]> {
        let ([a, b], [c, d]) = (self.right.map(f64::abs), self.down.map(f64::abs));
        let (straight, crossed) = (a * d, b * c);
        let difference = straight - crossed;
        let is_known = difference.abs() > MIN_TURNED * (straight + crossed) && difference.abs() > 1e-9;
        let size = || [(d * width - c * height) / difference, (a * height - b * width) / difference];
        is_known.then(|| size().map(|side| side.max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_has_its_edges_in_a_box() {
        let edges = |path: &str| ClipShape::parse(path).map(|shape| shape.edges(300.0, 400.0, 2.0));
        assert_eq!(edges("circle(10px at 100% 0px)"), Some([280.0, -20.0, 320.0, 20.0]));
        assert_eq!(edges("circle(10px at calc(100% - 40px) 5px)"), Some([200.0, -10.0, 240.0, 30.0]));
        assert_eq!(edges("circle(0%)"), Some([150.0, 200.0, 150.0, 200.0]));
        assert_eq!(edges("ellipse(10px 50% at 0% 0%)"), Some([-20.0, -200.0, 20.0, 200.0]));
        assert_eq!(edges("inset(10px 20%)"), Some([60.0, 20.0, 240.0, 380.0]));
        assert_eq!(edges("inset(0px 0px 100% 50% round 5px)"), Some([150.0, 0.0, 300.0, 0.0]));
        assert_eq!(edges("polygon(evenodd, 0px 0px, 50% 0px, calc(10% + 5px) 25%)"), Some([0.0, 0.0, 150.0, 100.0]));
        for unknown in ["none", "", "url(\"#a\")", "path(\"M 0 0\")", "circle(closest-side)", "circle(4px) padding-box"]
        {
            assert_eq!(edges(unknown), None, "{unknown}");
        }
        assert_eq!(edges("circle(min(4px, 2%) at 0% 0%)"), None);
    }

    #[test]
    fn turned_box_has_its_size() {
        let is_near =
            |one: [f64; 2], other: [f64; 2]| one.iter().zip(other).all(|(one, other)| (one - other).abs() < 0.01);
        let turned = Orientation::of("none", "10deg", "2").expect("it is known");
        assert!(is_near(turned.size(turned.room([30.0, 40.0])).expect("a size"), [30.0, 40.0]));
        assert!(is_near(turned.step(turned.place([3.0, -4.0])).expect("a step"), [3.0, -4.0]));
        assert!(!turned.is_upright() && turned.pixel().is_some_and(|pixel| (pixel - 2.0).abs() < 0.01));
        let eighth = Orientation::of("none", "45deg", "none").expect("it is known");
        assert_eq!(eighth.size([30.0, 30.0]), None);
        let quarter = Orientation::of("matrix(0, 1, -1, 0, 5, 5)", "none", "none").expect("it is known");
        assert!(is_near(quarter.size([30.0, 40.0]).expect("a size"), [40.0, 30.0]) && !quarter.is_upright());
        let moved = Orientation::of("matrix(1.5, 0, 0, 1.5, 90, 5)", "none", "").expect("it is known");
        assert!(moved.is_upright() && moved.pixel() == Some(1.5));
        for (transform, scale) in
            [("matrix(-1, 0, 0, 1, 0, 0)", "none"), ("matrix(-1, 0, 0, -1, 0, 0)", ""), ("none", "1 2")]
        {
            let other = Orientation::of(transform, "none", scale).expect("it is known");
            assert!(other.is_upright() && other.pixel().is_none(), "{transform} {scale}");
        }
        assert_eq!(Orientation::of("matrix3d(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1)", "none", "none"), None);
        assert_eq!(Orientation::of("none", "y 180deg", "none"), None);
    }
}
