use proptest::prelude::*;

use super::*;

fn host(text: &str) -> String {
    match parse(text) {
        Ok(PageUrl::Web(page)) => page.host.to_string(),
        Ok(PageUrl::Blank) => "about:blank".to_owned(),
        Err(decision) => decision.code.to_string(),
    }
}

// Requirement 2.3.
#[test]
fn url_text_is_parsed_like_the_browser() {
    let rows: &[(&str, &str, &str)] = &[
        ("https://example.com/", "example.com", "plain"),
        ("example.com", "example.com", "no scheme means https"),
        ("example.com:8443/a?b#c", "example.com", "a port is not a scheme"),
        ("localhost:8080", "localhost", "a port is not a scheme"),
        ("HTTPS://EXAMPLE.COM", "example.com", "lower case"),
        ("https://example.com./", "example.com", "trailing dot"),
        ("https://example.com../", "url-malformed", "empty label"),
        ("https://.example.com/", "url-malformed", "empty label"),
        ("https://b\u{fc}cher.example/", "xn--bcher-kva.example", "IDNA"),
        ("https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/", "127.0.0.1", "full-width digits"),
        ("https://%31%32%37.0.0.1/", "127.0.0.1", "percent-encoded host"),
        ("http://0x7f.1/", "127.0.0.1", "hexadecimal and short"),
        ("http://0177.0.0.1/", "127.0.0.1", "octal"),
        ("http://2130706433/", "127.0.0.1", "decimal"),
        ("http://127.1/", "127.0.0.1", "short"),
        ("http://127.0.0.1./", "127.0.0.1", "an address with a trailing dot"),
        ("http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", "IPv6 keeps its form; the address rules look inside"),
        ("http://256.1.1.1/", "url-malformed", "no address, and no name may end in a number"),
        ("about:blank", "about:blank", ""),
        ("About:Blank", "about:blank", ""),
        ("about:config", "scheme-not-allowed", ""),
        ("about:blank#x", "scheme-not-allowed", "only the exact text"),
        ("file:///etc/passwd", "scheme-not-allowed", ""),
        ("javascript:alert(1)", "scheme-not-allowed", ""),
        ("JavaScript:alert(1)", "scheme-not-allowed", ""),
        ("data:text/html,x", "scheme-not-allowed", ""),
        ("view-source:https://example.com", "scheme-not-allowed", ""),
        ("chrome://settings", "scheme-not-allowed", ""),
        ("ftp://example.com/", "scheme-not-allowed", ""),
        ("ws://example.com/", "scheme-not-allowed", ""),
        ("blob:https://example.com/1", "scheme-not-allowed", ""),
        ("http:example.com", "url-malformed", "WHATWG reads it as http://example.com"),
        ("http:/example.com", "url-malformed", "likewise"),
        ("http:///example.com", "url-malformed", "likewise: the host is empty"),
        ("https://", "url-malformed", "empty host"),
        ("https:///", "url-malformed", "empty host"),
        ("//example.com/", "url-malformed", "no scheme and no host before the slashes"),
        ("/etc/passwd", "url-malformed", "a path"),
        ("?x", "url-malformed", "a query"),
        ("", "url-malformed", "empty"),
        (" https://example.com", "url-malformed", "leading space"),
        ("https://exa mple.com/", "url-malformed", "space in the host"),
        ("https://example.com/a b", "example.com", "a space in the path is encoded"),
        ("https://example.com\\@evil.example/", "url-malformed", "backslash"),
        ("https://example.com/a\\b", "url-malformed", "backslash in the path"),
        ("https://example.com/y?p=a\\b", "example.com", "a backslash in the query is text"),
        ("https://example.com/#a\\b", "example.com", "a backslash in the fragment is text"),
        ("https://example.com?\\@evil.example/", "example.com", "the host ends in front of the query"),
        ("https://?\\evil.example/", "url-malformed", "no host"),
        ("?\\evil.example/", "url-malformed", "no host"),
        ("https:\\\\evil.example/?", "url-malformed", "backslashes in front of the host"),
        ("https://user@example.com/", "user-info-not-allowed", ""),
        ("https://user:pw@example.com/", "user-info-not-allowed", ""),
        ("https://@example.com/", "user-info-not-allowed", "empty user information, which parsers drop"),
        ("user@example.com", "user-info-not-allowed", "an e-mail address"),
        ("https://example.com/@user", "example.com", "an @ in the path is no user information"),
        ("https://example.com\t/", "url-malformed", "tab, which parsers drop"),
        ("java\nscript:alert(1)", "url-malformed", "line break, which parsers drop"),
        ("https://example.com:99999/", "url-malformed", "port out of range"),
        ("https://a\u{200b}b.example/", "ab.example", "IDNA drops a zero-width space; the browser gets the clean form"),
    ];
    for (text, expected, why) in rows {
        assert_eq!(host(text), *expected, "{text:?}: {why}");
    }
}

#[test]
fn browser_receives_serialized_url() {
    let given = parse("HTTP://EXAMPLE.com:80/a/../b c").expect("a page");
    assert_eq!(given.as_str(), "http://example.com/b%20c");
    let queried = parse("https://example.com?p=a\\b#c\\d").expect("a page");
    assert_eq!(queried.as_str(), "https://example.com/?p=a\\b#c\\d", "as Chromium keeps them");
    let dotted = parse("https://example.com.:8443/a").expect("a page");
    assert_eq!(dotted.as_str(), "https://example.com:8443/a", "the same name that is looked up");
}

proptest! {
    /// The text for the browser parses back to the same target: no second parser can find another host in it.
    #[test]
    fn url_parse_and_print_round_trip(text in "\\PC{0,40}|https?://[a-z0-9.:@%\\[\\]\\\\/?#-]{0,40}") {
        if let Ok(first) = parse(&text) {
            let again = parse(first.as_str()).expect("the serialized form is accepted");
            prop_assert_eq!(&again, &first);
        }
    }

    /// A query or a fragment changes no host, whatever it is.
    #[test]
    fn query_with_backslashes_leaves_the_host_alone(rest in "[?#][a-z.:@\\\\/?#]{0,20}") {
        prop_assert_eq!(host(&format!("https://example.com{rest}")), "example.com");
    }

    #[test]
    fn url_parser_never_panics(text in any::<String>()) {
        let _ = parse(&text);
        let _ = normalize_host(&text);
    }
}

#[test]
fn text_directive_of_a_fragment_is_left_out() {
    for (text, opened) in [
        ("https://example.com/a#:~:text=739152", "https://example.com/a"),
        ("https://example.com/a#part:~:text=a&text=b", "https://example.com/a#part"),
        ("https://example.com/a?b=:~:c#part", "https://example.com/a?b=:~:c#part"),
    ] {
        assert_eq!(parse(text).map(|url| url.as_str().to_owned()), Ok(opened.to_owned()), "{text}");
    }
}
