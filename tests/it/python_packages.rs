//! Python packages that the tests install: pinned, hashed, and installed only with those hashes.

use std::{fs, path::Path};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all text files of the repository, except what programs installed or built, with their paths.
fn texts() -> Vec<(String, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![root().to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_symlink() || name.starts_with("target") || ["node_modules", ".git"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                found.push((path.strip_prefix(root()).unwrap().display().to_string(), text));
            }
        }
    }
    found
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|other| other == extension)
}

/// Returns the requirements of a file: each with its options, on one line.
fn requirements(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Returns the reason why a requirement does not determine the file that is installed.
fn problem_of(requirement: &str) -> Option<&'static str> {
    let mut words = requirement.split(' ');
    let pin = words.next().unwrap_or_default();
    let is_pinned = pin.split_once("==").is_some_and(|(name, version)| {
        let is_plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+!".contains(&byte))
        };
        is_plain(name) && is_plain(version)
    });
    if !is_pinned {
        return Some("is not `name==version`");
    }
    let hashes: Vec<_> = words.collect();
    let is_hash = |word: &&str| {
        let digits = word.strip_prefix("--hash=sha256:").unwrap_or_default();
        digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match hashes.iter().all(is_hash) {
        true if hashes.is_empty() => Some("has no hash"),
        true => None,
        false => Some("has something besides SHA-256 hashes"),
    }
}

#[test]
fn python_requirements_are_pinned_with_hashes() {
    let texts = texts();
    let is_list = |path: &str| path.contains("requirements") && has_extension(path, "txt");
    let lists: Vec<_> = texts.iter().filter(|(path, _)| is_list(path)).collect();
    assert!(lists.len() >= 2, "{lists:?}");
    for (file, text) in lists {
        let found = requirements(text);
        assert!(!found.is_empty(), "{file}");
        for requirement in found {
            assert_eq!(problem_of(&requirement), None, "{file}: {requirement}");
        }
    }
    // Control: each of these is found.
    let hash = format!("--hash=sha256:{}", "0a".repeat(32));
    assert_eq!(problem_of(&format!("a==1 {hash} {hash}")), None);
    for wrong in [
        "a==1".to_owned(),
        format!("a>=1 {hash}"),
        format!("a {hash}"),
        format!("--index-url https://packages.example/ {hash}"),
        format!("a==1 {hash} --extra-index-url=https://packages.example/"),
        "a==1 --hash=md5:0123".to_owned(),
        format!("a==1 {}", hash.replace("0a", "0g")),
    ] {
        assert!(problem_of(&wrong).is_some(), "{wrong}");
    }
}

/// Returns true if a line of a script installs Python packages without checking their hashes.
fn is_unchecked(line: &str) -> bool {
    let words: Vec<_> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    let is_pip = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        name.strip_prefix("pip").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    let installs = words.windows(2).any(|pair| is_pip(pair[0]) && ["install", "download", "wheel"].contains(&pair[1]));
    installs && !words.contains(&"--require-hashes")
}

#[test]
fn pip_installs_only_with_hashes() {
    let mut installations = 0;
    for (path, text) in texts().iter().filter(|(path, _)| !has_extension(path, "rs")) {
        for line in text.replace("\\\n", " ").lines() {
            assert!(!is_unchecked(line), "{path}: {line}");
            installations += usize::from(is_unchecked(&line.replace("--require-hashes", "")));
        }
    }
    assert!(installations >= 2, "no installation was found");
    // Control: each of these is found.
    for wrong in [
        "pip install a",
        "  \"$venv/bin/pip\" install --no-deps -r a.txt",
        "run: python3 -m pip download a",
        "pip3.11 wheel a",
    ] {
        assert!(is_unchecked(wrong), "{wrong}");
    }
}
