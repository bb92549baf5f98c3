//! Patterns of URLs that a command waits for.
//!
//! `**` stands for any characters, `*` for any but a slash, `?` for one character. A pattern without `*` is a part of the URL, and may have its
//! `?` in front of a query.

/// Largest product of the lengths of a pattern and a URL, in characters, for which signs stand for other characters. A page chooses its URL,
/// which may have millions of characters; in a longer one, a pattern is only compared and searched as it is.
const MAX_STEPS: usize = 1 << 25;

/// Returns true if a URL matches a pattern.
///
/// ```
/// use browser_shell_core::url_pattern::matches;
///
/// assert!(matches("**/done", "https://shop.example/orders/done"));
/// assert!(matches("/orders/", "https://shop.example/orders/7?x=1"));
/// assert!(!matches("https://*/done", "https://shop.example/orders/done"));
/// ```
#[must_use]
pub fn matches(pattern: &str, url: &str) -> bool {
    if pattern == url || !pattern.contains('*') && url.contains(pattern) {
        return true;
    }
    if !pattern.contains(['*', '?']) {
        return false;
    }
    let (pattern, url): (Vec<char>, Vec<char>) = (pattern.chars().collect(), url.chars().collect());
    if pattern.len().saturating_mul(url.len()) > MAX_STEPS {
        return false;
    }
    // Positions of the URL that the pattern can have reached, before and behind each of its signs.
    let (mut reached, mut next) = (vec![false; url.len() + 1], vec![false; url.len() + 1]);
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    let mut rest = pattern.as_slice();
    while let Some((sign, after)) = rest.split_first() {
        let is_double = *sign == '*' && after.first() == Some(&'*');
        rest = if is_double { after.get(1..).unwrap_or_default() } else { after };
        let (mut is_open, mut is_any) = (false, false);
        for (position, slot) in next.iter_mut().enumerate() {
            let here = reached.get(position).copied().unwrap_or_default();
            let before = position.checked_sub(1).and_then(|before| Some((*reached.get(before)?, *url.get(before)?)));
            *slot = match (sign, before) {
                ('*', _) => {
                    let crosses = before.is_none_or(|(_, character)| is_double || character != '/');
                    is_open = here || (is_open && crosses);
                    is_open
                }
                ('?', Some((was_reached, _))) => was_reached,
                (sign, Some((was_reached, character))) => was_reached && character == *sign,
                (_, None) => false,
            };
            is_any |= *slot;
        }
        if !is_any {
            return false;
        }
        std::mem::swap(&mut reached, &mut next);
    }
    reached.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_urls() {
        for (pattern, url, is_match) in [
            ("**", "http://a.test/", true),
            ("/search?q=shoes", "http://a.test/search?q=shoes&page=2", true),
            ("?page=2", "http://a.test/search?page=3", false),
            ("**/done", "http://a.test/x/done", true),
            ("**/done", "http://a.test/x/done?y", false),
            ("**/done**", "http://a.test/x/done?y", true),
            ("http://a.test/*", "http://a.test/x", true),
            ("http://a.test/*", "http://a.test/x/y", false),
            ("http://a.test/*/y", "http://a.test/x/y", true),
            ("**/item?", "http://a.test/item7", true),
            ("**/item?", "http://a.test/item", false),
            ("done", "http://a.test/done/1", true),
            ("done", "http://a.test/", false),
            ("http://a.test/?q=1", "http://a.test/?q=1", true),
            ("*", "", true),
            ("**a**b", "xxaxxbxb", true),
            ("**a*b", "xxaxx/b", false),
        ] {
            assert_eq!(matches(pattern, url), is_match, "{pattern} {url}");
        }
    }

    #[test]
    fn long_pattern_and_long_url_are_compared_in_time() {
        let pattern = format!("*{}", "x".repeat(8190));
        let url = "x".repeat(2_000_000);
        assert!(!matches(&pattern, &url));
        assert!(!matches(&format!("{}*", "y".repeat(8190)), &"x".repeat(4000)), "nothing is reached");
        assert!(matches(&pattern, &pattern) && matches(&"x".repeat(8190), &url), "control");
        assert!(matches("**/done", &format!("http://a.test/{url}/done")), "control: a short pattern");
    }
}
