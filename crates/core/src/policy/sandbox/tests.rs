use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::new(None, text).expect("a pattern")
}

// Requirement 5.2.
#[test]
fn patterns_match_names_paths_and_brackets() {
    for (text, matching, other) in [
        (".env", &["/w/.env", "/w/a/b/.env", "/.env"][..], &["/w/x.env", "/w/.envrc", "/w/.env/x"][..]),
        ("*.pem", &["/w/a.pem", "/w/b/.pem", "/w/a\nb.pem"], &["/w/a.pem.bak", "/w/pem", "/w/a.PEM"]),
        ("conf/*.key", &["/w/conf/a.key", "/conf/a.key"], &["/w/a.key", "/w/conf/x/a.key", "/w/myconf/a.key"]),
        ("**/id_?", &["/w/id_a", "/id_b"], &["/w/id_", "/w/id_ab"]),
        ("/d/*.pem", &["/d/a.pem"], &["/d/e/a.pem", "/w/d/a.pem", "/dd/a.pem"]),
        ("/d/**/a", &["/d/a", "/d/x/a", "/d/x/y/a"], &["/d/xa", "/da"]),
        ("/d/**/*.a/b", &["/d/x.a/b", "/d/y/x.a/b"], &["/d/b", "/x.a/b"]),
        ("/d/x*/**", &["/d/x/a", "/d/xy/a/b"], &["/d/x", "/d/a"]),
        ("[a-c]x", &["/w/ax", "/w/cx", "/w/[a-c]x"], &["/w/dx", "/w/-x"]),
        ("[!a-c]x", &["/w/dx"], &["/w/ax", "/w/x"]),
        ("[]-]x", &["/w/]x", "/w/-x"], &["/w/ax"]),
        ("a[&&^b~]", &["/w/a&", "/w/a^", "/w/a~", "/w/ab"], &["/w/ac"]),
        ("a.b+(c)", &["/w/a.b+(c)"], &["/w/axb+(c)", "/w/a.bb(c)"]),
    ] {
        let pattern = pattern(text);
        for path in matching {
            assert!(pattern.matches(Path::new(path)), "{text} and {path}");
        }
        for path in other {
            assert!(!pattern.matches(Path::new(path)), "{text} and {path}");
        }
    }
    for text in ["[", "a[b", "[]", "[!]", "[z-a]"] {
        assert!(Pattern::new(None, text).is_none(), "{text}");
    }
}

// Requirement 5.2.
#[test]
fn home_folder_of_pattern_is_literal() {
    let pattern = Pattern::new(Some(Path::new("/home/[x] *")), "keys/*.pem").expect("a pattern");
    assert!(pattern.matches(Path::new("/home/[x] */keys/a.pem")));
    assert!(!pattern.matches(Path::new("/home/x a/keys/a.pem")));
    assert_eq!(pattern.as_str(), "/home/[x] */keys/*.pem");
}

// Requirement 5.2.
#[test]
fn pattern_covers_paths_below_and_knows_its_folders() {
    assert!(pattern("/d/x*").covers(Path::new("/d/xy/a/b")) && !pattern("/d/x*").covers(Path::new("/d")));
    for (text, folder, can) in [
        ("*.pem", "/anything", true),
        ("/d/*.pem", "/d", true),
        ("/d/*.pem", "/", true),
        ("/d/*.pem", "/e", false),
        ("/d/e/*.pem", "/d", true),
        ("/d/**/x", "/d/e/f", true),
    ] {
        assert_eq!(pattern(text).can_match_below(Path::new(folder)), can, "{text} in {folder}");
    }
}
