//! Selectors that stay in the document of the page, and names of elements, to tell a selector from a text that is meant as one.
//!
//! The agent-browser in Node passes a selector to Playwright, which reads it as parts between `>>`. A part can name an engine
//! (`text=Buy`), and engines for Playwright's own use enter frames: `iframe >> internal:control=enter-frame >> body`, or
//! `aria-ref=f1e2`. A frame can show a host that the policy refuses, and no check would see its URL.
//!
//! Invariants: no part of an accepted selector names such an engine, whatever a version of Playwright regards as quoted. So a `>>`
//! in quotes counts as well; a quoted text without one may contain anything.

use crate::selector::trim_start;

/// Beginning of the names of engines for Playwright's own use.
const INTERNAL: &str = "internal:";

/// Engine of references that Playwright itself gives elements, also those in frames.
const REFERENCE: &str = "aria-ref";

/// Engines whose body is a selector in JSON.
const NESTED: &[&str] = &["left-of", "right-of", "above", "below", "near"];

/// Returns `true` if a selector names an engine that can enter a frame.
pub(super) fn enters_frame(selector: &str) -> bool {
    // Every `>>` counts, of `>>>` both: an escape decides where a version of Playwright begins a part.
    let ends = selector.as_bytes().windows(2).enumerate().filter(|(_, pair)| pair == b">>");
    let starts = std::iter::once(0).chain(ends.map(|(position, _)| position + 2));
    starts.filter_map(|start| selector.get(start..)).filter_map(engine).any(|(name, body)| {
        name.starts_with(INTERNAL)
            || name == REFERENCE
            || (NESTED.contains(&name.as_str()) && nested_selector(body).is_some_and(|inner| enters_frame(&inner)))
    })
}

/// Returns the engine that a part names, in lower case, and the text after it, which may be longer than the part.
fn engine(part: &str) -> Option<(String, &str)> {
    let part = trim_start(part);
    let end = part.find(|c: char| !c.is_ascii_alphanumeric() && !"_-+:*".contains(c))?;
    let (name, rest) = part.split_at_checked(end)?;
    let body = trim_start(rest).strip_prefix('=')?;
    // The asterisk marks the part whose element is returned.
    Some((name.trim_start_matches('*').to_ascii_lowercase(), body))
}

/// Returns the selector at the beginning of the body of a nested engine, such as `"#a", 50`.
fn nested_selector(body: &str) -> Option<String> {
    serde_json::Deserializer::from_str(body).into_iter::<String>().next()?.ok()
}

/// Names of the elements of HTML, SVG and `MathML` that pages use, in lower case and sorted.
///
/// Sources: HTML Living Standard, section 4 and "Obsolete features"; SVG 2, element index; `MathML` Core.
const TAGS: &[&str] = &[
    "a",
    "abbr",
    "acronym",
    "address",
    "animate",
    "animatemotion",
    "animatetransform",
    "applet",
    "area",
    "article",
    "aside",
    "audio",
    "b",
    "base",
    "bdi",
    "bdo",
    "big",
    "blockquote",
    "body",
    "br",
    "button",
    "canvas",
    "caption",
    "center",
    "circle",
    "cite",
    "clippath",
    "code",
    "col",
    "colgroup",
    "data",
    "datalist",
    "dd",
    "defs",
    "del",
    "desc",
    "details",
    "dfn",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "ellipse",
    "em",
    "embed",
    "fencedframe",
    "fieldset",
    "figcaption",
    "figure",
    "filter",
    "font",
    "footer",
    "foreignobject",
    "form",
    "frame",
    "frameset",
    "g",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hgroup",
    "hr",
    "html",
    "i",
    "iframe",
    "image",
    "img",
    "input",
    "ins",
    "kbd",
    "label",
    "legend",
    "li",
    "line",
    "lineargradient",
    "link",
    "main",
    "map",
    "mark",
    "marker",
    "marquee",
    "mask",
    "math",
    "menu",
    "meta",
    "metadata",
    "meter",
    "mfrac",
    "mi",
    "mn",
    "mo",
    "mpath",
    "mroot",
    "mrow",
    "ms",
    "mspace",
    "msqrt",
    "mstyle",
    "msub",
    "msubsup",
    "msup",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "nav",
    "nobr",
    "noframes",
    "noscript",
    "object",
    "ol",
    "optgroup",
    "option",
    "output",
    "p",
    "param",
    "path",
    "pattern",
    "picture",
    "polygon",
    "polyline",
    "pre",
    "progress",
    "q",
    "radialgradient",
    "rb",
    "rect",
    "rp",
    "rt",
    "rtc",
    "ruby",
    "s",
    "samp",
    "script",
    "search",
    "section",
    "select",
    "selectedcontent",
    "semantics",
    "slot",
    "small",
    "source",
    "span",
    "stop",
    "strike",
    "strong",
    "style",
    "sub",
    "summary",
    "sup",
    "svg",
    "switch",
    "symbol",
    "table",
    "tbody",
    "td",
    "template",
    "text",
    "textarea",
    "textpath",
    "tfoot",
    "th",
    "thead",
    "time",
    "title",
    "tr",
    "track",
    "tspan",
    "tt",
    "u",
    "ul",
    "use",
    "var",
    "video",
    "view",
    "wbr",
    "xmp",
];

/// Returns `true` if a selector consists of plain words, one of which names no element: it is a text of the page.
pub(super) fn is_plain_text(selector: &str) -> bool {
    let is_plain = |word: &str| word.chars().all(char::is_alphanumeric) && word.starts_with(char::is_alphabetic);
    selector.split_whitespace().all(is_plain)
        && selector.split_whitespace().any(|word| TAGS.binary_search(&word.to_ascii_lowercase().as_str()).is_err())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn selectors_that_enter_frames_are_found() {
        for selector in [
            "internal:control=enter-frame",
            "#f >> internal:control=enter-frame >> body",
            "#f>>internal:control=enter-frame>>body",
            "#f >>\u{a0}\tinternal:control = enter-frame",
            "#f >> \u{feff}internal:control=enter-frame",
            "#f >> *internal:control=enter-frame",
            "#f >> INTERNAL:control=enter-frame",
            "css=#f >> internal:text=\"a\"i",
            "internal:control=any-frame >> body",
            "div >> internal:has=\"iframe >> internal:control=enter-frame >> a\"",
            "div:has(iframe >> internal:control=enter-frame >> a)",
            "text=a'b >> internal:control=enter-frame",
            "[title='a\\'] >> internal:control=enter-frame",
            r"a\>>> internal:control=enter-frame",
            ">>>> internal:control=enter-frame",
            "aria-ref=f1e2",
            "a >> Aria-Ref = f1e2",
            r#"a >> left-of="iframe >> internal:control=enter-frame >> b""#,
            r#"a >> near="iframe \u003e\u003e \u0069nternal:control=enter-frame", 50"#,
            r#"a >> near="iframe >> \u0069nternal:control=enter-frame >> b", 50"#,
            r#"a >> near= "iframe >> \u0069nternal:control=enter-frame""#,
            r#"a >> near="b \u003e> below=\"\\u0061ria-ref=f1e2\"""#,
        ] {
            assert!(enters_frame(selector), "{selector}");
        }
    }

    #[test]
    fn selectors_that_only_contain_the_words_are_left() {
        for selector in [
            "[data-x=\"internal:control=enter-frame\"]",
            "a[href='internal:control']",
            "text=internal:control=enter-frame",
            "\"internal:control\"",
            "#internal",
            "internal",
            "li >> nth=0",
            "li >> visible=true >> text=a",
            "role=button[name=\"internal:x\"]",
            "xpath=//a[@x='aria-ref=1']",
            "a >> right-of=\"#b\", 50",
            "a >> right-of=not JSON",
            "_react=BookItem",
            "iframe",
            "#f > a",
            "a=b",
        ] {
            assert!(!enters_frame(selector), "{selector}");
        }
    }

    proptest! {
        /// No text before and after a part hides it.
        #[test]
        fn nothing_around_a_part_hides_it(before in "\\PC{0,12}", after in "\\PC{0,12}") {
            let selector = format!("{before}>> internal:control=enter-frame {after}");
            prop_assert!(enters_frame(&selector));
        }
    }

    #[test]
    fn words_that_name_no_element_are_text() {
        assert!(TAGS.is_sorted());
        for text in ["Plain", "Sign in", "h7", "Log out", "日本", "button Save"] {
            assert!(is_plain_text(text), "{text}");
        }
        for selector in
            ["button", "BUTTON", "ul li", "h1", "my-element", "#a", "a b > c", "text=Plain", "a:hover", "@e1", "5", "*"]
        {
            assert!(!is_plain_text(selector), "{selector}");
        }
    }
}
