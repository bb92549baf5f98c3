//! Form of the documentation comments in all Rust sources.

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
