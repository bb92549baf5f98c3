//! Pages in English and their translations, compared.
//!
//! A reader of either page gets the same commands, JSON, figures and links, in chapters of the same order. Prose is not compared.

use std::collections::BTreeSet;

use super::{blocks, page, root};

/// The pages that have a translation, each with it.
const PAIRS: &[[&str; 2]] = &[
    ["README.md", "README.zh-CN.md"],
    ["docs/deploy.md", "docs/deploy.zh-CN.md"],
    ["docs/policy.md", "docs/policy.zh-CN.md"],
    ["skills/browser-shell/SKILL.md", "skills/zh-CN/browser-shell/SKILL.md"],
];

/// The parts of a page that do not depend on its language.
#[derive(Debug, PartialEq)]
struct Skeleton {
    /// The level of each heading.
    headings: Vec<usize>,
    /// Info string and text of each fenced block.
    blocks: Vec<(String, String)>,
    /// Tables, as rows of cells.
    tables: Vec<Vec<Vec<Cell>>>,
    /// Items of each list, by the code in them.
    items: Vec<BTreeSet<String>>,
    /// Link targets, sorted: the order of words differs between the languages.
    links: Vec<String>,
}

/// The code spans and the numbers of a table cell.
#[derive(Debug, PartialEq)]
struct Cell {
    /// In order of the alphabet, since the order of words differs.
    code: Vec<String>,
    numbers: Vec<String>,
}

impl Cell {
    fn parse(text: &str) -> Self {
        let (mut code, mut numbers) = (Vec::new(), Vec::new());
        for (index, part) in without_targets(text).split('`').enumerate() {
            if index % 2 == 1 {
                code.push(part.to_owned());
            } else {
                let words = part.split(|character: char| !character.is_ascii_digit() && character != '.');
                numbers.extend(words.map(|word| word.trim_matches('.').to_owned()).filter(|word| !word.is_empty()));
            }
        }
        code.sort_unstable();
        numbers.sort_unstable();
        Self { code, numbers }
    }
}

/// Returns a text without the targets of its links, which are compared apart.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "]" + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// Returns the code spans of a text.
fn code_of(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns a link of either language, as that of the English page.
fn in_english(link: &str) -> String {
    link.replace(".zh-CN.md", ".md").replace("skills/zh-CN/", "skills/")
}

/// Returns the links of a page, but the one below its title, which leads to the translation.
fn links(text: &str) -> Vec<&str> {
    let (_, text) = text.match_indices('\n').nth(2).map_or(("", text), |(end, _)| text.split_at(end));
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

impl Skeleton {
    fn parse(text: &str) -> Self {
        let (mut headings, mut tables, mut table) = (Vec::new(), Vec::new(), Vec::new());
        let mut items: Vec<String> = Vec::new();
        let (mut is_code, mut is_item) = (false, false);
        for line in text.lines().chain([""]) {
            is_code ^= line.starts_with("```");
            if is_code {
                continue;
            }
            if line.starts_with('#') {
                headings.push(line.chars().take_while(|character| *character == '#').count());
            }
            let is_first =
                line.starts_with("- ") || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
            if is_first {
                items.push(String::new());
            }
            is_item = is_first || (is_item && line.starts_with("  "));
            if let Some(item) = items.last_mut().filter(|_| is_item) {
                item.push_str(line);
                item.push('\n');
            }
            if line.starts_with('|') {
                // `\|` does not end a cell
                let line = line.replace("\\|", "\u{0}");
                table.push(line.trim_matches('|').split('|').map(Cell::parse).collect());
            } else if !table.is_empty() {
                tables.push(std::mem::take(&mut table));
            }
        }
        let mut links: Vec<_> = links(text).into_iter().map(in_english).collect();
        links.sort_unstable();
        let items = items.iter().map(|item| code_of(item)).collect();
        Self { headings, blocks: blocks(text), tables, items, links }
    }
}

/// Returns the anchors of a page: those of its headings, and those that it names.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if let Some(heading) = line.strip_prefix('#').filter(|_| !is_code) {
            let words = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = words.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
            anchors.insert(kept.map(|character| if character == ' ' { '-' } else { character }).collect());
        }
        anchors.extend(line.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned));
    }
    anchors
}

#[test]
fn translations_have_the_same_commands_tables_and_links() {
    for [english, translated] in PAIRS {
        let (expected, found) = (Skeleton::parse(&page(english)), Skeleton::parse(&page(translated)));
        assert!(expected.blocks.len() >= 8 && !expected.tables.is_empty(), "{english} was not parsed");
        assert_eq!(found.headings, expected.headings, "{translated}: headings");
        assert_eq!(found.blocks.len(), expected.blocks.len(), "{translated}: blocks");
        for (found, expected) in found.blocks.iter().zip(&expected.blocks) {
            assert_eq!(found, expected, "{translated}");
        }
        assert_eq!(found.links, expected.links, "{translated}: links");
        assert_eq!(found.tables.len(), expected.tables.len(), "{translated}: tables");
        for (found, expected) in found.tables.iter().zip(&expected.tables) {
            assert_eq!(found.len(), expected.len(), "{translated}: rows of the table with {:?}", expected.last());
            for (found, expected) in found.iter().zip(expected) {
                assert_eq!(found, expected, "{translated}");
            }
        }
        assert_eq!(found.items.len(), expected.items.len(), "{translated}: items of lists");
        for (found, expected) in found.items.iter().zip(&expected.items) {
            assert_eq!(found, expected, "{translated}: an item");
        }
    }
}

#[test]
fn translated_pages_link_to_each_other() {
    let first_lines = |text: &str| text.lines().take(3).collect::<String>();
    for [english, translated] in PAIRS.iter().filter(|[english, _]| !english.starts_with("skills/")) {
        let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        assert!(first_lines(&page(english)).contains(&format!("]({})", name(translated))), "{english}");
        assert!(first_lines(&page(translated)).contains(&format!("]({})", name(english))), "{translated}");
    }
    for [_, translated] in PAIRS {
        for link in links(&page(translated)).into_iter().filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = root().join(translated);
            let target = if path.is_empty() { folder } else { folder.parent().unwrap().join(path) };
            let target = target.canonicalize().unwrap_or_else(|error| panic!("{translated}: {link}: {error}"));
            if target.is_file() && !anchor.is_empty() && target.extension().is_some_and(|ending| ending == "md") {
                let known = anchors(&std::fs::read_to_string(&target).unwrap());
                assert!(known.contains(anchor), "{translated}: {link}: there is no such heading");
            }
            // What is translated is linked in its translation.
            let is_english = PAIRS.iter().any(|[english, _]| root().join(english).canonicalize().unwrap() == target);
            assert!(!is_english, "{translated}: {link} has a translation");
        }
    }
}

#[test]
fn comparison_of_translations_detects_changed_content() {
    let readme = page("README.md");
    let original = Skeleton::parse(&readme);
    for (from, to) in [
        ("./dev up ", "./dev run "),
        ("\"timeout_sec\": 30", "\"timeout_sec\": 31"),
        ("| 5,074 |", "| 5,075 |"),
        ("| `BROWSER_SHELL_AUDIT` |", "| `BROWSER_SHELL_LOG` |"),
        ("](docs/policy.md)", "](docs/deploy.md)"),
        ("\n## Settings\n", "\n### Settings\n"),
        ("`session_id` separates", "`session` separates"),
        ("\n- Without the egress guard", "\nWithout the egress guard"),
    ] {
        assert!(readme.contains(from), "{from}");
        assert_ne!(Skeleton::parse(&readme.replacen(from, to, 1)), original, "{from}");
    }
    let without_a_row: Vec<_> = readme.lines().filter(|line| !line.starts_with("| 75 |")).collect();
    assert_ne!(Skeleton::parse(&without_a_row.join("\n")), original);
    // prose may differ
    assert_eq!(Skeleton::parse(&readme.replacen("How it compares", "Compared with others", 1)), original);
    assert_eq!(
        anchors("# A `b` (c)\n```\n# d\n```\n<a id=\"e\"></a>\n## 中 文"),
        ["a-b-c", "e", "中-文"].map(str::to_owned).into()
    );
}
