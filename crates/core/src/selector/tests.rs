use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Option<SelectorChain> {
    SelectorChain::parse(text)
}

/// Parses a chain of one part.
fn part(text: &str) -> SelectorPart {
    match parse(text).unwrap_or_else(|| panic!("`{text}` is no chain")).parts() {
        [part] => part.clone(),
        parts => panic!("`{text}` has {parts:?}"),
    }
}

fn contains(text: &str) -> SelectorPart {
    SelectorPart::Text(TextMatch::Contains(text.to_owned()))
}

fn exact(text: &str) -> SelectorPart {
    SelectorPart::Text(TextMatch::Exact(text.to_owned()))
}

#[test]
fn text_is_exact_only_in_quotes() {
    assert_eq!(part("text=Buy now"), contains("Buy now"));
    assert_eq!(part(" text = Buy "), contains("Buy"));
    assert_eq!(part("text=\"Buy now\""), exact("Buy now"));
    assert_eq!(part("text='Buy now' "), exact("Buy now"));
    assert_eq!(part(r#"text="a \"b\" \\ c""#), exact(r#"a "b" \ c"#));
    assert_eq!(part("text=it's"), contains("it's"));
    assert_eq!(part("text=\"a\" b"), contains("\"a\" b"));
    assert_eq!(part("text=\"a"), contains("\"a"));
    assert_eq!(part("text=a=b"), contains("a=b"));
    assert_eq!(part("text=/"), contains("/"));
    assert_eq!(part("text=\"a >> b\""), exact("a >> b"));
}

#[test]
fn role_has_a_name_and_states() {
    let SelectorPart::Role(role) =
        part(r#"role=Button[ name = "Save \"it\"" i ][pressed][disabled=false][checked=mixed]"#)
    else {
        panic!("no role")
    };
    assert_eq!(role.role, "button");
    let name = NameMatch { operator: NameOperator::Equals, text: "Save \"it\"".to_owned(), ignores_case: true };
    assert_eq!(role.names, [name]);
    let state = |state, value| StateMatch { state, value };
    assert_eq!(
        role.states,
        [
            state(RoleState::Pressed, StateValue::True),
            state(RoleState::Disabled, StateValue::False),
            state(RoleState::Checked, StateValue::Mixed),
        ]
    );
    for (text, operator) in [
        ("role=link[name=Save]", NameOperator::Equals),
        ("role=link[name='Save's]", NameOperator::Equals),
        ("role=link[name*=\"Save\"]", NameOperator::Contains),
        ("role=link[name^=Save]", NameOperator::Begins),
        ("role=link[name$=Save]", NameOperator::Ends),
        ("role=link[name~=Save]", NameOperator::Word),
        ("role=link[name|=Save]", NameOperator::Prefix),
    ] {
        let SelectorPart::Role(role) = part(text) else { panic!("`{text}` has no role") };
        assert_eq!((role.names[0].operator, role.names[0].text.as_str()), (operator, "Save"), "{text}");
        assert!(!role.names[0].ignores_case, "{text}");
    }
    for (text, name) in [
        ("role=link[name=Go to page 3]", "Go to page 3"),
        ("role=link[name=Don't save ][disabled]", "Don't save"),
        ("role=link[name*=ab (c)]", "ab (c)"),
    ] {
        let SelectorPart::Role(role) = part(text) else { panic!("`{text}` has no role") };
        assert_eq!((role.names[0].text.as_str(), role.names[0].ignores_case), (name, false), "{text}");
    }
    let SelectorPart::Role(heading) = part("role=heading[level=2]") else { panic!("no role") };
    assert_eq!(heading.states, [state(RoleState::Level, StateValue::Number(2))]);
}

#[test]
fn names_are_compared_as_css_compares_attributes() {
    let matches = |text: &str, name: &str| {
        let SelectorPart::Role(role) = part(&format!("role=button[name{text}]")) else { panic!("no role") };
        role.names[0].matches(name, |text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    for (text, name, expected) in [
        ("=\"Save it\"", "Save  it ", true),
        ("=\"save it\"", "Save it", false),
        ("=\"save it\"i", "Save it", true),
        ("=\"Save\"", "Save it", false),
        ("=\"\"", "", true),
        ("*=\"ave\"", "Save it", true),
        ("*=\"\"", "Save", false),
        ("^=\"Save\"", "Save it", true),
        ("$=\"it\"", "Save it", true),
        ("$=\"Save\"", "Save it", false),
        ("~=\"it\"", "Save it", true),
        ("~=\"i\"", "Save it", false),
        ("|=\"en\"", "en-US", true),
        ("|=\"en\"", "english", false),
    ] {
        assert_eq!(matches(text, name), expected, "{text} {name}");
    }
}

#[test]
fn parts_are_joined_to_chains() {
    let css = |selectors: &[&str]| SelectorPart::Css(selectors.iter().map(|&css| css.to_owned()).collect());
    for (text, parts) in [
        ("#a >> text=B >> nth=1", vec![css(&["#a"]), contains("B"), SelectorPart::Nth(1)]),
        ("#a>>text=B>>nth=-1", vec![css(&["#a"]), contains("B"), SelectorPart::Nth(-1)]),
        ("#a >> li >> nth=0", vec![css(&["#a", "li"]), SelectorPart::Nth(0)]),
        ("#a >> li", vec![css(&["#a", "li"])]),
        ("[title='a >> b'] >> nth=0", vec![css(&["[title='a >> b']"]), SelectorPart::Nth(0)]),
        ("text=it's >> nth=0", vec![contains("it's"), SelectorPart::Nth(0)]),
        ("text >> nth=0", vec![css(&["text"]), SelectorPart::Nth(0)]),
        ("text=\"A\" >> a[href=\"/x\"]", vec![exact("A"), css(&["a[href=\"/x\"]"])]),
    ] {
        assert_eq!(parse(text).map(|chain| chain.parts().to_vec()), Some(parts), "{text}");
    }
    let chain = parse("li >> nth=2 >> text=B").expect("a chain");
    assert_eq!(chain.parts_before_position(), [css(&["li"])]);
}

#[test]
fn other_selectors_are_no_chains() {
    for text in [
        "",
        " ",
        "#a",
        "a > b",
        "[title=\"a >> b\"]",
        "@e1",
        "xpath=//a",
        "//a",
        "(//a)[1] >> nth=0",
        ".. >> nth=0",
        "css=#a",
        "css=#a >> nth=0",
        "#a >> visible=true",
        "*text=a",
        "text=",
        "text=\"\"",
        "text=/a/",
        "text=/a/i",
        "\"Buy\"",
        "\"Buy\" >> nth=0",
        "nth=0",
        "a >> nth=",
        "a >> nth=b",
        "a >> nth=1.5",
        "a >>",
        ">> text=a",
        "a >> >> b",
        "role=",
        "role=[name=a]",
        "role=button[name]",
        "role=button[name=/a/]",
        "role=button[name=\"a]",
        "role=button[include-hidden]",
        "role=button[level]",
        "role=button[level=a]",
        "role=button[disabled=mixed]",
        "role=button extra",
        "role=button[name=\"a\"] b",
        "#a >> :scope > b",
        "#a >> internal:control=enter-frame",
        "[title='a >> nth=0",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[test]
fn chain_has_a_limited_number_of_parts() {
    for part in ["a", "text=a", "role=button", "[title='a >> b']"] {
        let chain = |count| format!("li >> {}", vec![part; count - 1].join(" >> "));
        assert_eq!((parse(&chain(MAX_PARTS + 1)), parse(&chain(4000))), (None, None), "{part}");
        assert!(
            SelectorChain::is_too_long(&chain(MAX_PARTS + 1)) && SelectorChain::is_too_long(&chain(4000)),
            "{part}"
        );
        assert!(parse(&chain(MAX_PARTS)).is_some() && !SelectorChain::is_too_long(&chain(MAX_PARTS)), "control");
    }
    assert!(!SelectorChain::is_too_long(&format!("[title='{}']", "a >> ".repeat(40))), "one part");
}

proptest! {
    #[test]
    fn printed_chain_parses_to_an_equal_one(text in "((text|role|nth) ?=|#a|>>| |[ab]|\"|'|\\\\|\\[name|\\[|\\]|=|i|/|[0-3]|-|\\PC){0,24}") {
        if let Some(chain) = parse(&text) {
            let printed = chain.to_string();
            prop_assert_eq!(parse(&printed), Some(chain), "{}", printed);
        }
    }

    #[test]
    fn quoted_texts_survive(text in "\\PC{1,40}", name in "\\PC{0,40}") {
        prop_assume!(!text.trim().is_empty());
        let role = RoleMatch {
            role: "button".to_owned(),
            names: vec![NameMatch { operator: NameOperator::Contains, text: name, ignores_case: true }],
            states: Vec::new(),
        };
        let chain = SelectorChain { parts: vec![exact(&text), SelectorPart::Role(role), SelectorPart::Nth(-2)] };
        prop_assert_eq!(parse(&chain.to_string()), Some(chain));
    }
}
