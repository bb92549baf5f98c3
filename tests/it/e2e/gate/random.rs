//! Random pages: what a person sees of them is read, nothing else is, what is read is found, and a press goes to what it names.
//!
//! The page makes itself from a number (`pages/gate/random.html`), and each text of it is a word of its own. It says what its layout shows;
//! Chromium's accessibility tree says the roles and names. `BROWSER_SHELL_RANDOM_PAGES` is the number of pages, `BROWSER_SHELL_RANDOM_FIRST`
//! the number of the first one.

use std::collections::{BTreeMap, BTreeSet};

use browser_shell_core::snapshot::Line;
use serde_json::{Value, json};

use super::acting::Page;
use super::script::{evaluate, on_page};
use super::shop;

/// Roles of which a line must have the role and the name that Chromium tells.
const ROLES: &[&str] = &[
    "button",
    "checkbox",
    "combobox",
    "heading",
    "link",
    "radio",
    "searchbox",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
];

/// States that a line has if the control has them, and only then.
const STATES: &[&str] = &["checked", "collapsed", "disabled", "expanded", "pressed", "required", "selected"];

/// Roles of the cells of a row.
const CELLS: &[&str] = &["cell", "columnheader", "gridcell", "rowheader"];

/// Controls that are pressed on each page.
const PRESSES: usize = 6;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Returns the words of a text that the page made.
fn words(text: &str) -> Vec<&str> {
    let is_word = |word: &&str| word.len() > 4 && word.starts_with('w') && word.ends_with('q');
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_word).collect()
}

/// Returns a line, and those that it is in, from the inside out.
fn with_outer(lines: &[Line], place: usize) -> impl Iterator<Item = &Line> {
    let mut level = lines[place].level + 1;
    lines[..=place].iter().rev().filter(move |line| {
        let is_outer = line.level < level;
        level = level.min(line.level);
        is_outer
    })
}

/// Returns the lines in a line that are in no other one.
fn inner(lines: &[Line], place: usize) -> impl Iterator<Item = &Line> {
    let level = lines[place].level;
    lines[place + 1..].iter().take_while(move |line| line.level > level).filter(move |line| line.level == level + 1)
}

/// Returns the problems of a view of a page.
fn problems(page: &Page, address: &str) -> Vec<String> {
    let mut problems = Vec::new();
    page.ok(&["open", address]);
    let asked = [evaluate("truth()"), on_page("Accessibility.getFullAXTree", json!({}))];
    let replies = page.browser.ask_tab(address, &asked);
    let truth = replies.value(2).clone();
    let nodes = replies.result(3)["nodes"].as_array().unwrap().clone();
    // The lines of a value are in one.
    let text = page.call(&["snapshot"]).ok().page().replace("\\n", " ");
    let lines = text.lines().filter(|line| *line != "(empty page)");
    let lines: Vec<_> = lines.map(|line| Line::parse(line).unwrap_or_else(|| panic!("{line}"))).collect();
    let list = |name: &str| -> Vec<&str> {
        truth[name].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
    };

    // Reading loses nothing that a person sees, and has nothing else.
    let read: BTreeSet<_> = words(&text).into_iter().collect();
    let is_unread = |word: &&&str| !read.contains(**word);
    let seen = [list("seen"), list("values")].concat();
    problems.extend(seen.iter().filter(is_unread).map(|word| format!("not read: {word}")));
    problems.extend(
        list("unseen").iter().filter(|word| read.contains(**word)).map(|word| format!("read, but not shown: {word}")),
    );
    // In the order of the page: of a word that is said twice, as the text and as the name of a control, one place must fit.
    let mut places = BTreeMap::<_, Vec<_>>::new();
    for (place, word) in words(&text).into_iter().enumerate() {
        places.entry(word).or_default().push(place);
    }
    let mut reached = 0;
    for word in list("seen").into_iter().filter(|word| places.contains_key(word)) {
        match places[word].iter().find(|place| **place >= reached) {
            Some(place) => reached = *place,
            None => problems.push(format!("out of order: {word}")),
        }
    }

    // A mark changes the meaning of its words, and each cell of a row is there, also one without a text.
    let holds = |word: &str| lines.iter().position(|line| words(&line.name).contains(&word));
    let pairs = |name: &str| truth[name].as_array().unwrap().iter().map(|pair| (pair[0].as_str().unwrap(), &pair[1]));
    for (word, mark) in pairs("marks") {
        let is_marked = |place| with_outer(&lines, place).any(|line| line.role == mark.as_str().unwrap());
        if !places.contains_key(word) || !holds(word).is_some_and(is_marked) {
            problems.push(format!("no {mark}: {word}"));
        }
    }
    for (word, cells) in pairs("rows") {
        let row = holds(word).and_then(|place| with_outer(&lines, place).find(|line| line.role == "row"));
        let place = row.and_then(|row| lines.iter().position(|line| std::ptr::eq(line, row)));
        let shown = place.map(|row| inner(&lines, row).filter(|line| CELLS.contains(&line.role.as_str())).count());
        if shown.map(|shown| shown as u64) != cells.as_u64() {
            problems.push(format!("{shown:?} cells, not {cells}, in the row of {word}"));
        }
    }

    // No text repeats what it is in.
    let mut around: Vec<&Line> = Vec::new();
    for line in &lines {
        around.truncate(line.level);
        let is_in = |word: &&str| around.last().is_some_and(|outer| words(&outer.name).contains(word));
        if line.role == "text" && words(&line.name).iter().any(is_in) {
            problems.push(format!("repeated: {line}"));
        }
        around.push(line);
    }

    // Roles and names are those that Chromium tells.
    let shown: BTreeSet<_> = lines.iter().map(|line| (line.role.as_str(), line.name.as_str())).collect();
    for node in nodes.iter().filter(|node| node["ignored"] == false) {
        let (role, name) =
            (node["role"]["value"].as_str().unwrap_or_default(), node["name"]["value"].as_str().unwrap_or_default());
        let is_shown = words(name).iter().any(|word| read.contains(word));
        // A link whose text is a heading is a link.
        let has_line = shown.contains(&(role, name)) || role == "heading" && shown.contains(&("link", name));
        if ROLES.contains(&role) && is_shown && !has_line {
            problems.push(format!("Chromium has {role} `{name}`"));
        }
    }

    // States are those of the control, and a press goes to it.
    let controls = truth["controls"].as_array().unwrap();
    let mut presses = 0;
    for control in controls {
        let word = control["word"].as_str().unwrap();
        // An item of a list is named by the first text in it, which may be that of a control.
        let is_text = |line: &Line| matches!(line.role.as_str(), "label" | "listitem" | "text");
        let is_control = |line: &&Line| line.reference.is_some() && words(&line.name) == [word] && !is_text(line);
        let line = lines.iter().rfind(is_control);
        // The text of a label is the name of its control.
        if control["labeled"] == true && places.get(word).is_some_and(|places| places.len() > 1) {
            problems.push(format!("the label is repeated: {word}"));
        }
        if control["behind"] == true {
            problems.extend(line.map(|line| format!("behind a dialog: {line}")));
            continue;
        }
        let Some(line) = line else {
            problems.push(format!("no line with a reference: {word}"));
            continue;
        };
        for state in STATES {
            let has = line.states.iter().any(|(name, _)| name == state);
            if has != (control[*state] == true) {
                problems.push(format!("{state} is {has}: {line}"));
            }
        }
        let role = format!("role={}[name={}]", line.role, Value::from(line.name.as_str()));
        if presses < PRESSES && control["disabled"] == false {
            presses += 1;
            if page.ok(&["get", "count", &role])["count"] == 0 {
                problems.push(format!("not found: {role}"));
            }
            let reply = page.call(&["click", &format!("@e{}", line.reference.unwrap())]);
            let hit = page.ok(&["get", "value", "#log"])["value"].clone();
            if reply.code != 0 || hit != word {
                problems.push(format!("pressed {hit}: {line}: {}", reply.stderr));
            }
        }
    }
    if !problems.is_empty() {
        page.ok(&["open", address]);
        let html = page.ok(&["get", "html", "#root"])["html"].clone();
        problems.extend([text.trim_end().replace('\n', "\n  "), html.as_str().unwrap().to_owned()]);
    }
    problems
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn random_pages_are_read_as_they_are() {
    Page::each_at("gate/random", |page| {
        let first = number("BROWSER_SHELL_RANDOM_FIRST", 1);
        let mut wrong = Vec::new();
        for seed in first..first + number("BROWSER_SHELL_RANDOM_PAGES", 8) {
            let address = shop(&format!("gate/random?{seed}"));
            let problems = problems(page, &address);
            if !problems.is_empty() {
                wrong.push(format!("{address}\n  {}", problems.join("\n  ")));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
