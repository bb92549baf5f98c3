use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::output::Body;
use crate::output::mask::Literals;

fn set(values: &[&str]) -> Literals {
    Literals::new(values.iter().map(|value| (*value).to_owned()))
}

#[test]
fn values_are_masked_in_every_encoding() {
    let literals = set(&["a\"b'c<d>&\u{e9}/\u{1f600} x+%1"]);
    for text in [
        "a\"b'c<d>&\u{e9}/\u{1f600} x+%1",
        r#"a\"b'c<d>&é/😀 x+%1"#,
        r"a\u0022b\u0027c\u003cd\u003e\u0026\u00e9\/\ud83d\ude00 x\u002b%1",
        "a&quot;b'c&lt;d&gt;&amp;\u{e9}/\u{1f600} x+%1",
        "a&#34;b&#39;c&#60;d&#62;&#38;&#233;/&#x1F600;&#32;x&#43;&#37;1",
        "a&#x22;b&#X27;c&#x3c;d&#x03E;&#x26;&#xe9;/&#x1f600; x+%1",
        "a%22b'c%3Cd%3E%26%C3%A9/%F0%9F%98%80%20x%2B%251",
        "a%22b%27c%3cd%3e%26%c3%a9%2f%f0%9f%98%80+x%2b%251",
        "%61%22%62%27%63%3C%64%3E%26%C3%A9%2F%F0%9F%98%80%20%78%2B%25%31",
        // one encoding inside another
        r"a&quot;b'c&lt;d&gt;&amp;\u00e9/\ud83d\ude00 x+%1",
        "a%2522b%27c%253Cd%253E%2526%25C3%25A9%252F%25F0%259F%2598%2580+x%252B%25251",
        "a&amp;quot;b'c&amp;lt;d&amp;gt;&amp;amp;\u{e9}/\u{1f600} x+%1",
        r#"a\\\"b'c<d>&é/😀 x+%1"#,
    ] {
        assert_eq!(literals.mask_text(&format!("before {text} behind")), "before *** behind", "{text}");
    }
    for text in ["a\"b'c<d>&\u{e9}/\u{1f600} x+%2", "a&quot;b", "", "***"] {
        assert_eq!(literals.mask_text(text), text, "control");
    }
}

#[test]
fn short_values_are_masked_only_on_their_own() {
    let literals = set(&["12", "7"]);
    for (text, expected) in [
        ("12", "***"),
        ("code: 12.", "code: ***."),
        ("\"12\"", "\"***\""),
        ("[7,12]", "[***,***]"),
        (r"a\n12", r"a\n***"),
        ("?pin=12&x=7", "?pin=***&x=***"),
        ("%2012", "%20***"),
        ("\u{7801}12\u{7801}", "\u{7801}***\u{7801}"),
        ("%31%32", "***"),
        ("2012", "2012"),
        ("12a 127", "12a 127"),
        ("e7", "e7"),
    ] {
        assert_eq!(literals.mask_text(text), expected, "{text}");
    }
}

// Requirement 6.3.
#[test]
fn values_in_letters_of_a_style_are_masked() {
    for (value, text, expected) in [
        ("correct-horse9 battery", "x Correct-Horse9 Battery x", "x *** x"),
        ("correct-horse9 battery", "CORRECT-HORSE9 BATTERY Correct-horse9 battery", "*** ***"),
        ("don't_a.b9 c", "Don't_a.b9 C", "***"),
        ("correcthorse", "CORRECTHORSE Correcthorse correcthorse", "*** *** ***"),
        ("correct horse", "Correct Horse", "***"),
        // Controls: words of pages, and letters that no style changes.
        ("sesame", "SESAME Sesame sesame", "SESAME Sesame ***"),
        ("correct-horse9 battery", "correct-Horse9 battery", "correct-Horse9 battery"),
    ] {
        assert_eq!(set(&[value]).mask_text(text), expected, "{value}");
    }
}

// Requirement 6.3.
#[test]
fn values_with_other_white_space_are_masked() {
    let literals = set(&["correct horse 9"]);
    for text in [
        "correct\u{a0}horse\u{a0}9",
        "correct\nhorse\r\n9",
        "correct  horse\u{2003}\t9",
        "correct%C2%A0horse%0A9",
        "correct&nbsp;horse&#160;9",
        r"correct\nhorse\u00a09",
    ] {
        assert_eq!(literals.mask_text(&format!("a\u{a0} {text}  b")), "a\u{a0} ***  b", "{text}");
    }
    for text in ["correcthorse 9", "correct\u{200b}horse 9", "correct\n-\nhorse 9"] {
        assert_eq!(literals.mask_text(text), text, "control");
    }
    assert_eq!(set(&["correct-horse9"]).mask_text("a\u{a0}\nb correct-horse9"), "a\u{a0}\nb ***", "control");
}

// Requirement 6.3.
#[test]
fn values_in_urls_of_other_encodings_are_masked() {
    let literals = set(&["p\u{e4}ssw\u{f6}rd 99\u{20ac}", "l\u{f6}we12"]);
    for (text, expected) in [
        ("?pp=p%E4ssw%F6rd+99%80&x=%E4", "?pp=***&x=%E4"),
        ("?pp=p%e4ssw%f6rd%2099%80", "?pp=***"),
        ("p%E4ssw%F6rd%2099%u20AC", "***"),
        ("?pp=p%C3%A4ssw%C3%B6rd+99%E2%82%AC", "?pp=***"),
        ("l%F6we12 l%25F6we12 l%u00f6we12", "*** *** ***"),
        ("l%F7we12 p%E4ssw%F6rd", "l%F7we12 p%E4ssw%F6rd"),
    ] {
        assert_eq!(literals.mask_text(text), expected, "{text}");
    }
}

// Requirement 6.3.
#[test]
fn words_and_numbers_are_masked_as_a_whole_only() {
    let literals = set(&[
        "sesame",
        "4711",
        "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}",
        "\u{5bc6}\u{7801}\u{8bcd}\u{8bed}",
        "hunter2",
    ]);
    for (text, expected) in [
        ("Sesame sesame, (sesame) sesame.", "Sesame ***, (***) ***."),
        ("sesamer sesame1 xsesame \u{e9}sesame sesame\u{e9}", "sesamer sesame1 xsesame \u{e9}sesame sesame\u{e9}"),
        ("4711 04711 47110 4711a -4711-", "*** 04711 47110 4711a -***-"),
        ("?pin=4711&word=ses%61me%20x", "?pin=***&word=***%20x"),
        (
            "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}\u{43d}\u{44b}\u{439} \u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}",
            "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}\u{43d}\u{44b}\u{439} ***",
        ),
        // Scripts without blanks between words.
        ("\u{6211}\u{7684}\u{5bc6}\u{7801}\u{8bcd}\u{8bed}\u{662f}", "\u{6211}\u{7684}***\u{662f}"),
        ("\u{6211}sesame\u{662f}", "\u{6211}***\u{662f}"),
        // What is neither a word nor a number is in no other one.
        ("xhunter2x", "x***x"),
    ] {
        assert_eq!(literals.mask_text(text), expected, "{text}");
    }
}

#[test]
fn longest_and_overlapping_values_leave_no_rest() {
    for (values, text, expected) in [
        (&["ab-d", "ab-def"][..], "xab-defx", "x***x"),
        (&["ab-d", "-def"], "ab-def", "***"),
        (&["ab-d"], "ab-dab-d", "***"),
        (&["abcd"], "abcd abcd", "*** ***"),
        // A mask can make another value out of its surroundings.
        (&["s3cret", "x***y"], "a xs3crety b", "a *** b"),
        (&["ab-d", "12"], "ab-d12", "******"),
        (&["  two  words "], "two words", "***"),
    ] {
        assert_eq!(set(values).mask_text(text), expected, "{values:?}");
    }
}

#[test]
fn values_without_content_hide_nothing() {
    let literals = set(&["", " ", "****", "\t\n"]);
    assert!(literals.is_empty() && Literals::default().is_empty());
    assert_eq!(literals.mask_text("a  ****"), "a  ****");
    assert!(!set(&["x"]).is_empty(), "control");
    assert_eq!(format!("{:?}", set(&["hunter2"])), "Literals { values: 3, .. }");
}

#[test]
fn known_secrets_are_masked_in_bodies() {
    let literals = set(&["hunter2", "4711", "12"]);
    let mut body = Body::Data(json!({
        "value": "hunter2", "html": "<input value=\"hunter2\">", "n": 12, "pin": 4711, "part": 147_110, "code": "12",
        "is": true, "none": null, "a hunter2 b": {"list": ["x", "%68unter2"]}
    }));
    body.mask_literals(&literals);
    let expected = json!({
        "value": "***", "html": "<input value=\"***\">", "n": 12, "pin": "***", "part": 147_110, "code": "***",
        "is": true, "none": null, "a *** b": {"list": ["x", "***"]}
    });
    assert_eq!(body, Body::Data(expected));
    let mut text = Body::Text("{\"value\":\"hunter\\u0032\"}".to_owned());
    text.mask_literals(&literals);
    assert_eq!(text, Body::Text("{\"value\":\"***\"}".to_owned()));
    let mut same = Body::Data(json!({"b": 1, "a": "hunter2"}));
    same.mask_literals(&Literals::default());
    assert_eq!(same, Body::Data(json!({"b": 1, "a": "hunter2"})), "control");
}

#[test]
fn long_texts_are_masked() {
    let literals = Literals::new((0..64).map(|number| format!("{}{number}", "a".repeat(number))));
    let text = "aaaaaaaa \\n&amp;%20+".repeat(3_000);
    let masked = literals.mask_text(&text);
    assert_eq!(masked.len(), text.len(), "no value is in it");
    let text = format!("{text}{}63{text}", "a".repeat(63));
    assert!(literals.mask_text(&text).contains("***"), "control");
}

/// One way to write a character.
fn encode(character: char, way: u8, is_upper: bool) -> String {
    let hex = |text: String| if is_upper { text.to_uppercase() } else { text };
    let join = |parts: Vec<String>| parts.concat();
    match way {
        0 => join(character.to_string().bytes().map(|byte| format!("%{}", hex(format!("{byte:02x}")))).collect()),
        1 => format!("&#{};", u32::from(character)),
        2 => format!("&#x{};", hex(format!("{:x}", u32::from(character)))),
        3 => {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units).iter();
            join(units.map(|unit| format!("\\u{}", hex(format!("{unit:04x}")))).collect())
        }
        _ => {
            let quoted = serde_json::to_string(&character).expect("JSON");
            quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).expect("a string").to_owned()
        }
    }
}

/// Takes hours where the time grows with the square of a value's length.
#[test]
fn long_values_of_one_letter_take_no_time() {
    let values = || ('a'..='z').map(|letter| format!("1{}", letter.to_string().repeat(4000)));
    for _ in 0..10 {
        let literals = Literals::new(values());
        assert_eq!(literals.mask_text(&values().collect::<Vec<_>>().join(" ")), [MASK; 26].join(" "));
        let almost: String = values().map(|value| value.chars().take(4000).collect::<String>()).collect();
        assert_eq!(literals.mask_text(&almost), almost, "control");
    }
}

proptest! {
    /// However many characters of a value are escaped, it is masked as a whole.
    #[test]
    fn partly_encoded_values_are_masked(
        value in "[a-z]{3,6}[A-Za-z0-9!$/:;=?@é€😀 ]{1,8}[a-z]",
        way in 0..5_u8,
        chosen in proptest::collection::vec(any::<bool>(), 32),
        is_upper: bool,
        before in "[ .,\"<>]{0,3}",
    ) {
        let written: String = value.chars().zip(chosen).map(|(character, is_encoded)| {
            // A JSON string has no choice with quotes and backslashes; the value has none.
            if is_encoded { encode(character, way, is_upper) } else { character.to_string() }
        }).collect();
        let masked = Literals::new([value]).mask_text(&format!("{before}{written}{before}")).into_owned();
        prop_assert_eq!(masked, format!("{before}***{before}"));
    }

    /// Two encodings, one inside the other.
    #[test]
    fn values_in_nested_encodings_are_masked(
        value in "[a-z]\\PC{4,12}[a-z]",
        ways in proptest::collection::vec(0..5_u8, 2),
        is_upper: bool,
    ) {
        let written = ways.iter().fold(value.clone(), |text, way| {
            text.chars().map(|character| encode(character, *way, is_upper)).collect()
        });
        let masked = Literals::new([value]).mask_text(&written).into_owned();
        prop_assert_eq!(masked, MASK);
    }

    /// No result contains a value that is masked anywhere, and masking a second time changes nothing.
    #[test]
    fn no_result_contains_a_value(
        values in proptest::collection::vec("[ab*&;%1]{1,6}", 1..5),
        text in "([ab*&;%1 \"]|&amp;|%2[56]|\\\\n){0,24}",
    ) {
        let literals = Literals::new(values.clone());
        let masked = literals.mask_text(&text).into_owned();
        let is_word = |value: &str| value.chars().all(char::is_alphabetic) || value.chars().all(char::is_numeric);
        for value in values.iter().filter(|value| value.chars().count() >= FREE_LENGTH && !is_word(value)) {
            let is_hidden = value.contains(|c: char| !c.is_whitespace() && c != '*');
            prop_assert!(!is_hidden || !masked.contains(value.as_str()), "{} in {}", value, masked);
        }
        prop_assert_eq!(literals.mask_text(&masked).into_owned(), masked);
    }
}

fn masked(data: Value) -> Value {
    let mut body = Body::Data(data);
    body.mask_literals(&Literals::default().with_field_values(["admin".to_owned(), "a \"b\" & c".to_owned()]));
    let Body::Data(data) = body else { panic!("the body has no data") };
    data
}

// Requirement 6.3.
#[test]
fn typed_secret_is_masked_as_value_of_a_field_only() {
    for (given, expected) in [
        (json!({"value": "admin"}), Some(json!({"value": "***"}))),
        (json!({"filled": true, "holds": "admin"}), Some(json!({"filled": true, "holds": "***"}))),
        (
            json!({"html": "<input value=\"admin\"><b title=\"admin\">admin</b>"}),
            Some(json!({"html": "<input value=\"***\"><b title=\"admin\">admin</b>"})),
        ),
        (json!({"html": "<input\nvalue=admin>"}), Some(json!({"html": "<input\nvalue=***>"}))),
        (json!({"html": "<input value='a &quot;b&quot; &amp; c'>"}), Some(json!({"html": "<input value='***'>"}))),
        (
            json!({"html": "<textarea id=\"a\">admin</textarea>"}),
            Some(json!({"html": "<textarea id=\"a\">***</textarea>"})),
        ),
        (
            json!({"html": "<textarea title=\"a > b <c\" rows=\"2\">admin</textarea>"}),
            Some(json!({"html": "<textarea title=\"a > b <c\" rows=\"2\">***</textarea>"})),
        ),
        (
            json!({"html": "<textarea title=a\"b>admin</textarea>"}),
            Some(json!({"html": "<textarea title=a\"b>***</textarea>"})),
        ),
        (json!({"html": "<option value=\"administrator\">"}), None),
        (
            json!({"snapshot": "- textbox \"Code\" [required, ref=e1]: admin\n  - StaticText \"admin\"\n- link \"admin\" [ref=e2]"}),
            Some(
                json!({"snapshot": "- textbox \"Code\" [required, ref=e1]: ***\n  - StaticText \"***\"\n- link \"admin\" [ref=e2]"}),
            ),
        ),
        (
            json!({"snapshot": "- textbox \"Code\" [ref=e1]:\n  - text: \"a \\\"b\\\" & c\"\n- text: admin"}),
            Some(json!({"snapshot": "- textbox \"Code\" [ref=e1]:\n  - text: \"***\"\n- text: admin"})),
        ),
        (json!({"snapshot": "- link \"Site admin\" [ref=e1]\n- button \"Add admin user\" [ref=e2]"}), None),
        (json!({"text": "admin", "title": "admin login", "url": "http://admin/?admin"}), None),
    ] {
        assert_eq!(masked(given.clone()), expected.unwrap_or(given));
    }
}

#[test]
fn tags_without_an_end_are_each_read_once() {
    // What reads the rest of the text again for each tag does not end in time.
    for tag in ["<textarea value=x'", "<textarea \"<textarea value=x'", "<textarea title=\"<b\" value=x'"] {
        let tags = tag.repeat(100_000);
        assert!(masked(json!({"html": tags})) == json!({"html": tags}));
        let control = format!("{tags}\"'><textarea rows=\"2\" class=\"a\">admin</textarea>");
        let expected = format!("{tags}\"'><textarea rows=\"2\" class=\"a\">***</textarea>");
        assert!(masked(json!({"html": control})) == json!({"html": expected}), "control");
    }
}

#[test]
fn message_names_no_typed_secret_as_value() {
    let literals = Literals::default().with_field_values(["admin".to_owned()]);
    let message = "the `textbox` holds \"admin\"; `link \"Site admin\"` is in front";
    assert_eq!(literals.mask_message(message), "the `textbox` holds \"***\"; `link \"Site admin\"` is in front");
}

#[test]
fn short_secrets_have_no_pieces() {
    assert!(Pieces::new(["abc", ""]).is_empty());
    let pieces = Pieces::new(["äöüß"]);
    assert!(pieces.is_in("xäöüßx"), "control");
    assert!(!pieces.is_in("äöü") && !pieces.is_in("") && !pieces.is_in("ÄÖÜß"));
    assert!(!format!("{pieces:?}").contains('ä'));
}

proptest! {
    #[test]
    fn part_of_four_characters_is_found(secret in "\\PC{4,12}", start in 0_usize..9, around in "\\PC{0,3}") {
        let characters: Vec<_> = secret.chars().collect();
        let start = start.min(characters.len() - LENGTH);
        let part: String = characters[start..start + LENGTH].iter().collect();
        let text = format!("{around}{part}{around}");
        prop_assert!(Pieces::new([secret.as_str()]).is_in(&text));
    }
}
