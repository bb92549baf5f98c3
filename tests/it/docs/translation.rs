//! The English and the Chinese README, compared.
//!
//! A reader of either page gets the same commands, JSON, figures and links. Prose is not compared.

use super::{blocks, page};

/// The parts of a page that do not depend on its language.
#[derive(Debug, PartialEq)]
struct Skeleton {
    /// The level of each heading.
    headings: Vec<usize>,
    /// Info string and text of each fenced block.
    blocks: Vec<(String, String)>,
    /// Tables, as rows of cells.
    tables: Vec<Vec<Vec<Cell>>>,
    /// Link targets, sorted: the order of words differs between the languages.
    links: Vec<String>,
}

/// The code spans and the numbers of a table cell.
#[derive(Debug, PartialEq)]
struct Cell {
    code: Vec<String>,
    numbers: Vec<String>,
}

impl Cell {
    fn parse(text: &str) -> Self {
        let (mut code, mut numbers) = (Vec::new(), Vec::new());
        for (index, part) in text.split('`').enumerate() {
            if index % 2 == 1 {
                code.push(part.to_owned());
            } else {
                let words = part.split(|character: char| !character.is_ascii_digit() && character != '.');
                numbers.extend(words.map(|word| word.trim_matches('.').to_owned()).filter(|word| !word.is_empty()));
            }
        }
        Self { code, numbers }
    }
}

impl Skeleton {
    fn parse(text: &str) -> Self {
        let mut headings = Vec::new();
        let mut tables = Vec::new();
        let mut table = Vec::new();
        let mut is_code = false;
        for line in text.lines().chain([""]) {
            is_code ^= line.starts_with("```");
            if is_code {
                continue;
            }
            if line.starts_with('#') {
                headings.push(line.chars().take_while(|character| *character == '#').count());
            }
            if line.starts_with('|') {
                // `\|` does not end a cell
                let line = line.replace("\\|", "\u{0}");
                table.push(line.trim_matches('|').split('|').map(Cell::parse).collect());
            } else if !table.is_empty() {
                tables.push(std::mem::take(&mut table));
            }
        }
        let is_language_link = |link: &&str| link.starts_with("README.");
        let mut links: Vec<_> = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .filter(|link| !is_language_link(link))
            .map(str::to_owned)
            .collect();
        links.sort_unstable();
        Self { headings, blocks: blocks(text), tables, links }
    }
}

#[test]
fn both_readmes_have_the_same_commands_tables_and_links() {
    let (english, chinese) = (page("README.md"), page("README.zh-CN.md"));
    let (expected, translated) = (Skeleton::parse(&english), Skeleton::parse(&chinese));
    assert!(expected.blocks.len() >= 8 && expected.tables.len() >= 4, "the page was not parsed");
    assert_eq!(translated.blocks, expected.blocks);
    assert_eq!(translated.headings, expected.headings);
    assert_eq!(translated.links, expected.links);
    assert_eq!(translated.tables.len(), expected.tables.len());
    for (translated, expected) in translated.tables.iter().zip(&expected.tables) {
        assert_eq!(translated.len(), expected.len(), "rows of the table with {:?}", expected.last());
        for (translated, expected) in translated.iter().zip(expected) {
            assert_eq!(translated, expected);
        }
    }
    let first_lines = |text: &str| text.lines().take(3).collect::<String>();
    assert!(first_lines(&english).contains("](README.zh-CN.md)"));
    assert!(first_lines(&chinese).contains("](README.md)"));
}

#[test]
fn readme_comparison_detects_changed_content() {
    let readme = page("README.md");
    let original = Skeleton::parse(&readme);
    for (from, to) in [
        ("./dev up ", "./dev run "),
        ("\"timeout_sec\": 30", "\"timeout_sec\": 31"),
        ("| 5,074 |", "| 5,075 |"),
        ("| `BROWSER_SHELL_AUDIT` |", "| `BROWSER_SHELL_LOG` |"),
        ("](docs/policy.md)", "](docs/deploy.md)"),
        ("\n## Settings\n", "\n### Settings\n"),
    ] {
        assert!(readme.contains(from), "{from}");
        assert_ne!(Skeleton::parse(&readme.replacen(from, to, 1)), original, "{from}");
    }
    let without_a_row: Vec<_> = readme.lines().filter(|line| !line.starts_with("| 75 |")).collect();
    assert_ne!(Skeleton::parse(&without_a_row.join("\n")), original);
    // prose may differ
    assert_eq!(Skeleton::parse(&readme.replacen("How it compares", "Compared with others", 1)), original);
}
