//! The requirements page against the tests: `docs/requirements.md` names tests that exist, and tests have names that fit.
//!
//! Only text is read, nothing is compiled or run. Each check has a control that feeds it a made-up mistake.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::docs::page;

const PAGE: &str = "docs/requirements.md";
const FOLDERS: &[&str] = &["benches", "crates", "fuzz", "src", "tests"];
/// First and last number of the requirements in each section, from section 1 on. A new requirement raises the last one.
const SECTIONS: &[(usize, usize)] = &[(1, 14), (1, 7), (1, 6), (1, 3), (1, 2), (1, 7), (0, 4), (1, 2)];
const MAX_NAME_CHARACTERS: usize = 60;
const MAX_REQUIREMENT_NAME_CHARACTERS: usize = 40;

/// One requirement of the page.
struct Requirement<'a> {
    /// Such as `2.4`.
    number: &'a str,
    name: &'a str,
    /// The names of tests, and paths of checks that are no Rust tests.
    proofs: Vec<&'a str>,
    is_planned: bool,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the requirements of a page: headings such as `### [2.4] Name`, each with a paragraph that begins with `Tests:`.
fn requirements(page: &str) -> Vec<Requirement<'_>> {
    let sections = page.split("\n### [").skip(1);
    sections
        .map(|section| {
            let (number, text) = section.split_once(']').expect("the number ends with a bracket");
            let (name, text) = text.split_once('\n').expect("a name, and a text below it");
            let tests = text.split_once("\nTests: ").map_or("", |(_, tests)| tests);
            let tests = tests.split("\n\n").next().unwrap_or_default().trim_end();
            Requirement {
                number,
                name: name.trim(),
                proofs: tests.split('`').skip(1).step_by(2).collect(),
                is_planned: tests == "planned.",
            }
        })
        .collect()
}

/// Returns every number that a section should have, in the order of the page.
fn expected_numbers(sections: &[(usize, usize)]) -> Vec<String> {
    let numbers = |(section, (first, last)): (usize, &(usize, usize))| {
        (*first..=*last).map(|number| format!("{}.{number}", section + 1)).collect::<Vec<_>>()
    };
    sections.iter().enumerate().flat_map(numbers).collect()
}

/// Returns what is wrong with the names of a page's requirements: each is short, its own, and in the list of links to them.
fn problems_of_requirement_names(page: &str) -> Vec<String> {
    let is_in_anchor = |character: &char| character.is_alphanumeric() || matches!(character, ' ' | '-');
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for Requirement { number, name, .. } in requirements(page) {
        if name.is_empty() || name.chars().count() > MAX_REQUIREMENT_NAME_CHARACTERS || !names.insert(name) {
            problems.push(format!("[{number}] needs a short name of its own, not `{name}`"));
        }
        let heading = format!("[{number}] {name}").to_lowercase();
        let anchor = heading.chars().filter(is_in_anchor).collect::<String>().replace(' ', "-");
        let link = format!("[{number} {name}](#{anchor})");
        if !page.contains(&link) {
            problems.push(format!("the list lacks {link}"));
        }
    }
    problems
}

/// Returns the names of the functions with a test attribute.
fn test_functions(source: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        if is_test && let Some((_, rest)) = line.split_once("fn ") {
            names.push(rest.split(['(', '<']).next().unwrap_or_default());
            is_test = false;
        }
    }
    names
}

/// Returns what is wrong with the name of a test.
fn problem_of_name(name: &str) -> Option<String> {
    if name.starts_with("spec_") {
        return Some(format!("`{name}` is named after a document: say what happens"));
    }
    let length = name.chars().count();
    (length > MAX_NAME_CHARACTERS).then(|| format!("`{name}` has {length} characters, {MAX_NAME_CHARACTERS} at most"))
}

fn is_number(text: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(section, number)| is_digits(section) && is_digits(number))
}

/// Returns the numbers of requirements that the comments of a source name: in brackets, or in a `Requirement` line.
fn mentioned_numbers(source: &str) -> Vec<&str> {
    let mut numbers = Vec::new();
    for line in source.lines() {
        let comment = if line.trim_start().starts_with("//") {
            line.trim_start()
        } else {
            line.split_once(" // ").map_or("", |(_, comment)| comment)
        };
        let bracketed = comment.split('[').skip(1).filter_map(|rest| Some(rest.split_once(']')?.0));
        numbers.extend(bracketed.filter(|text| is_number(text)));
        if let Some(rest) = comment.strip_prefix("// Requirement") {
            numbers.extend(
                rest.split([' ', ',', ':']).map(|word| word.trim_end_matches('.')).filter(|word| is_number(word)),
            );
        }
    }
    numbers
}

/// Returns the proofs that do not exist, and the requirements without any.
fn problems_of_proofs(requirements: &[Requirement], tests: &BTreeSet<&str>) -> Vec<String> {
    let mut problems = Vec::new();
    for Requirement { number, proofs, is_planned, .. } in requirements {
        if proofs.is_empty() && !is_planned {
            problems.push(format!("[{number}] names no test and is not planned"));
        }
        for proof in proofs {
            let exists = if proof.contains('/') { root().join(proof).exists() } else { tests.contains(proof) };
            if !exists {
                problems.push(format!("[{number}] names `{proof}`, which does not exist"));
            }
        }
    }
    problems
}

fn add_sources(folder: &Path, sources: &mut Vec<(PathBuf, String)>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            if !["node_modules", "target"].iter().any(|name| path.ends_with(name)) {
                add_sources(&path, sources);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            sources.push((path, text));
        }
    }
}

/// Reads every Rust file of the repository.
fn sources() -> Vec<(PathBuf, String)> {
    let mut sources = Vec::new();
    for folder in FOLDERS.iter().map(|name| root().join(name)).filter(|folder| folder.exists()) {
        add_sources(&folder, &mut sources);
    }
    sources
}

#[test]
fn every_requirement_is_listed_once_and_in_order() {
    let page = page(PAGE);
    let numbers: Vec<_> = requirements(&page).iter().map(|requirement| requirement.number.to_owned()).collect();
    assert_eq!(numbers, expected_numbers(SECTIONS), "{PAGE}");
}

#[test]
fn every_requirement_has_a_short_name_in_the_list() {
    let problems = problems_of_requirement_names(&page(PAGE));
    assert!(problems.is_empty(), "{PAGE}:\n{}", problems.join("\n"));
}

#[test]
fn every_requirement_names_existing_tests_or_is_planned() {
    let (page, sources) = (page(PAGE), sources());
    let tests: BTreeSet<_> = sources.iter().flat_map(|(_, source)| test_functions(source)).collect();
    let problems = problems_of_proofs(&requirements(&page), &tests);
    assert!(problems.is_empty(), "{PAGE}:\n{}", problems.join("\n"));
}

#[test]
fn every_requirement_in_a_comment_is_on_the_page() {
    let page = page(PAGE);
    let known: BTreeSet<_> = requirements(&page).iter().map(|requirement| requirement.number).collect();
    let mut count = 0;
    for (path, source) in sources() {
        for number in mentioned_numbers(&source) {
            assert!(known.contains(number), "{}: [{number}] is not in {PAGE}", path.display());
            count += 1;
        }
    }
    assert!(count > 50, "control: only {count} comments were found");
}

#[test]
fn test_names_are_short_and_describe_behavior() {
    let sources = sources();
    let names: Vec<_> = sources.iter().flat_map(|(_, source)| test_functions(source)).collect();
    assert!(names.len() > 500, "control: only {} tests were found", names.len());
    let problems: Vec<_> = names.into_iter().filter_map(problem_of_name).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn requirement_checks_find_made_up_mistakes() {
    let long = "x".repeat(MAX_NAME_CHARACTERS + 1);
    let source = format!(
        "#[test]\nfn spec_1_1_made_up() {{}}\nfn spec_no_test() {{}}\n#[tokio::test(start_paused = true)]\n#[ignore = \"slow\"]\nasync fn {long}() {{}}\n#[test] fn fits(x in 0..1) {{}}\n"
    );
    let names = test_functions(&source);
    assert_eq!(names, ["spec_1_1_made_up", long.as_str(), "fits"]);
    let problems: Vec<_> = names.iter().copied().filter_map(problem_of_name).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");

    let comments = "//! As [1.2] and [9.9] say, not [x.1].\nlet x = [1.5]; // see [3.3]\n// Requirements: 2.2, 2.3.\n// Requirement 2.4.\n";
    assert_eq!(mentioned_numbers(comments), ["1.2", "9.9", "3.3", "2.2", "2.3", "2.4"]);

    let page = "# A\n\n### [1.1] A\n\nText, `code`.\n\nTests: `fits`,\n`missing`, `no/file`, `tests/it`.\n\n### [1.1] B\n\nText.\n\n### [1.3] C\n\nTests: planned.\n";
    let listed = requirements(page);
    assert_eq!(listed.iter().map(|requirement| requirement.number).collect::<Vec<_>>(), ["1.1", "1.1", "1.3"]);
    assert_eq!(expected_numbers(&[(1, 2), (0, 1)]), ["1.1", "1.2", "2.0", "2.1"]);
    let problems = problems_of_proofs(&listed, &BTreeSet::from(["fits"]));
    assert_eq!(problems.len(), 3, "a name, a file and a requirement without a test: {problems:?}");

    let page = format!(
        "[1.1 A `b`](#11-a-b), [1.3 C](#13)\n\n### [1.1] A `b`\n\n### [1.2] A `b`\n\n### [1.3] C\n\n### [1.4] {long}\n"
    );
    let problems = problems_of_requirement_names(&page);
    assert_eq!(problems.len(), 5, "two names and three links: {problems:?}");
}
