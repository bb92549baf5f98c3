//! Rules for the Rust sources: the form of documentation comments, and names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Words with which no documentation comment begins: it would be a question turned into a statement.
const QUESTION_WORDS: &[&str] = &["What", "Whether", "How", "Who", "Whose", "Where", "Which", "When", "Why"];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the first lines of the documentation comments of a source, with their line numbers.
fn first_lines(source: &str) -> Vec<(usize, &str)> {
    let text = |line: &str| {
        let line = line.trim_start();
        line.starts_with("///") || line.starts_with("//!")
    };
    let lines: Vec<_> = source.lines().collect();
    let begins = |index: usize| text(lines[index]) && (index == 0 || !text(lines[index - 1]));
    let numbers = (0..lines.len()).filter(|index| begins(*index));
    numbers.map(|index| (index + 1, lines[index].trim_start().trim_start_matches(['/', '!']).trim_start())).collect()
}

/// Returns the first lines that begin with a question word.
fn questions(source: &str) -> Vec<(usize, &str)> {
    let is_question = |line: &str| QUESTION_WORDS.contains(&line.split(' ').next().unwrap_or_default());
    first_lines(source).into_iter().filter(|(_, line)| is_question(line)).collect()
}

#[test]
fn doc_comments_do_not_begin_with_question_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["benches", "crates", "fuzz", "src", "tests"] {
        rust_files(&root.join(folder), &mut files);
    }
    let mut comments = 0;
    let mut problems = Vec::new();
    for file in &files {
        let source = std::fs::read_to_string(file).unwrap();
        comments += first_lines(&source).len();
        let file = file.strip_prefix(root).unwrap().display();
        problems.extend(questions(&source).iter().map(|(number, line)| format!("{file}:{number}: {line}")));
    }
    assert!(comments > 1000, "the comments were not found");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn question_words_are_found_on_first_lines_only() {
    let source =
        "//! What it is.\n\n/// Returns it.\n/// What follows is the second line.\nfn f() {}\n    /// Whether it is.\n";
    assert_eq!(questions(source), [(1, "What it is."), (6, "Whether it is.")]);
}

/// Returns the names of the types that a source defines at its top. Associated types, and those of functions and tests, are further in.
fn types(source: &str) -> Vec<&str> {
    let source = source.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let name = |line| {
        let mut words = str::split_whitespace(line).skip_while(|word| word.starts_with("pub"));
        let is_type = matches!(words.next(), Some("struct" | "enum" | "union" | "trait" | "type"));
        let name = words.next().filter(|_| is_type)?;
        name.split(|c: char| !c.is_alphanumeric()).next()
    };
    source.lines().filter(|line| !line.starts_with(' ')).filter_map(name).collect()
}

#[test]
fn no_two_types_of_the_program_share_a_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["crates", "src"] {
        rust_files(&root.join(folder), &mut files);
    }
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for file in &files {
        let path = file.strip_prefix(root).unwrap().display().to_string();
        if path.ends_with("tests.rs") || path.contains("/tests/") {
            continue;
        }
        for name in types(&std::fs::read_to_string(file).unwrap()) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    assert!(places.len() > 500, "the types were not found: {}", places.len());
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn types_at_the_top_of_a_source_are_found() {
    let source = "pub(crate) struct A<'a> {\n    type B = u8;\n}\ntype C = A<'static>;\nfn d() {}\npub enum E {}\n#[cfg(test)]\nmod tests {\nstruct F;";
    assert_eq!(types(source), ["A", "C", "E"]);
}
