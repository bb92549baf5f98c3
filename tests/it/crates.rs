//! Crates and their import graphs: no circle between modules, and no import upward. The pages that map the folders agree.
//!
//! Each source file is read as tokens, without its tests. A path that begins with `crate`, `self` or `super` is an edge to the
//! file of the longest module path that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use browser_shell_core::agent_browser::AgentBrowser;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

use super::docs::page;

/// Modules of one crate, by path (`["call", "pipeline"]`; the root is empty), with the modules that each imports.
type Graph = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// Folders of the crates, lowest first. Each uses only those before it, and Cargo permits no circle.
const CRATES: &[&str] = &[
    "crates/core",
    "crates/system",
    "crates/cdp",
    "crates/browser",
    "crates/engine",
    "crates/agent-browser",
    "crates/egress",
    ".",
];

/// The folders of the program, lowest layer first. Each may import only from those before it.
const LAYERS: &[&str] = &["session", "call", "api", "cli", "testing"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the source files below a folder, without those that hold only tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !matches!(name, "tests.rs" | "main.rs")
            && !name.ends_with("_tests.rs")
        {
            files.push(path);
        }
    }
    files
}

/// Returns the module path of a file: `call/mod.rs` and `call.rs` are both `call`.
fn module(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> = file.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib")) {
        parts.pop();
    }
    parts
}

/// Removes items that only tests see.
fn without_tests(items: Vec<syn::Item>) -> TokenStream {
    fn attributes(item: &syn::Item) -> &[syn::Attribute] {
        match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => &[],
        }
    }
    let is_test =
        |attribute: &syn::Attribute| attribute.to_token_stream().to_string().replace(' ', "") == "#[cfg(test)]";
    items.into_iter().filter(|item| !attributes(item).iter().any(is_test)).map(ToTokens::into_token_stream).collect()
}

/// Collects the paths that tokens name, with the segments in front of a group joined to each of its members.
fn paths(tokens: TokenStream, prefix: &[String], found: &mut Vec<Vec<String>>) {
    let mut current: Vec<String> = prefix.to_vec();
    let mut joins = true;
    let mut flush = |current: &mut Vec<String>| {
        if current.len() > prefix.len() {
            found.push(current.clone());
        }
        *current = prefix.to_vec();
    };
    let mut groups = Vec::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                joins = colons == 2;
                continue;
            }
            TokenTree::Ident(name) => {
                if !joins {
                    flush(&mut current);
                }
                current.push(name.to_string());
            }
            // `pub(crate)`, `pub(in crate::a)`
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::Parenthesis && current.last().is_some_and(|name| name == "pub") =>
            {
                flush(&mut current);
            }
            TokenTree::Group(group) => {
                let is_member_list = joins && group.delimiter() == Delimiter::Brace && current.len() > prefix.len();
                if is_member_list {
                    // The members are the paths, not what is in front of them.
                    groups.push((group.stream(), std::mem::replace(&mut current, prefix.to_vec())));
                } else {
                    groups.push((group.stream(), Vec::new()));
                    flush(&mut current);
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => flush(&mut current),
        }
        colons = 0;
        // A member list begins with a name that continues its prefix.
        joins = false;
    }
    flush(&mut current);
    for (stream, base) in groups {
        members(stream, &base, found);
    }
}

/// Collects the paths of a group, member by member where it is the list of a `use`.
fn members(tokens: TokenStream, base: &[String], found: &mut Vec<Vec<String>>) {
    if base.is_empty() {
        return paths(tokens, &[], found);
    }
    let mut member = TokenStream::new();
    for token in tokens {
        if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ',') {
            member_path(std::mem::take(&mut member), base, found);
        } else {
            member.extend([token]);
        }
    }
    member_path(member, base, found);
}

fn member_path(tokens: TokenStream, base: &[String], found: &mut Vec<Vec<String>>) {
    let mut inner = Vec::new();
    paths(tokens, &[], &mut inner);
    found.extend(inner.into_iter().map(|path| base.iter().cloned().chain(path).collect::<Vec<_>>()));
}

/// Returns the module that a path in `from` leads to, if it is one of the crate's own.
fn resolve(path: &[String], from: &[String], modules: &BTreeSet<Vec<String>>) -> Option<Vec<String>> {
    let mut target = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => from.to_vec(),
        "super" => from.split_last()?.1.to_vec(),
        // `mod child; pub use child::Item` names a child without `self`.
        first => {
            let child: Vec<_> = from.iter().cloned().chain([first.to_owned()]).collect();
            return modules.contains(&child).then_some(child);
        }
    };
    for segment in &path[1..] {
        if segment == "super" {
            target.pop();
            continue;
        }
        target.push(segment.clone());
        if !modules.contains(&target) {
            target.pop();
            break;
        }
    }
    Some(target)
}

fn graph(folder: &Path) -> Graph {
    let files = sources(folder);
    let modules: BTreeSet<_> = files.iter().map(|file| module(file.strip_prefix(folder).unwrap())).collect();
    let mut graph = Graph::new();
    for file in &files {
        let from = module(file.strip_prefix(folder).unwrap());
        let parsed = syn::parse_file(&std::fs::read_to_string(file).unwrap()).unwrap();
        let mut found = Vec::new();
        paths(without_tests(parsed.items), &[], &mut found);
        let targets = found.iter().filter_map(|path| resolve(path, &from, &modules)).filter(|to| *to != from);
        graph.insert(from.clone(), targets.collect());
    }
    graph
}

/// Returns a circle, if there is one, as the modules along it.
fn circle(graph: &Graph) -> Option<Vec<Vec<String>>> {
    fn visit(at: &Vec<String>, graph: &Graph, path: &mut Vec<Vec<String>>, done: &mut BTreeSet<Vec<String>>) -> bool {
        if let Some(start) = path.iter().position(|seen| seen == at) {
            path.drain(..start);
            return true;
        }
        if !done.insert(at.clone()) {
            return false;
        }
        path.push(at.clone());
        let found = graph.get(at).into_iter().flatten().any(|next| visit(next, graph, path, done));
        if !found {
            path.pop();
        }
        found
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| {
        let mut path = Vec::new();
        visit(start, graph, &mut path, &mut done).then_some(path)
    })
}

fn names(modules: &[Vec<String>]) -> Vec<String> {
    modules.iter().map(|module| module.join("::")).collect()
}

#[test]
fn crates_have_no_import_cycles() {
    for folder in CRATES {
        let graph = graph(&root().join(folder).join("src"));
        assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 5, "{folder}: the imports were not found");
        let found = circle(&graph).map(|modules| names(&modules));
        assert_eq!(found, None, "{folder}: these modules import each other");
    }
}

#[test]
fn program_modules_import_only_from_lower_layers() {
    let graph = graph(&root().join("src"));
    let layer = |module: &[String]| {
        let top = module.first()?;
        Some(LAYERS.iter().position(|layer| layer == top).unwrap_or_else(|| panic!("`{top}` is in no layer")))
    };
    for (from, targets) in &graph {
        let Some(own) = layer(from) else { continue };
        for to in targets {
            let other = layer(to).unwrap_or(0);
            assert!(other <= own, "{} imports {}", from.join("::"), to.join("::"));
        }
    }
}

/// Returns the code spans in the cells of a column, in the first table behind a heading.
fn spans_of_column(page: &str, heading: &str, column: usize) -> Vec<String> {
    let (_, rest) = page.split_once(heading).unwrap_or_else(|| panic!("`{heading}`"));
    let table = rest.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = table.skip(2).filter_map(|row| row.trim_matches('|').split('|').nth(column));
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(|span| span.trim_end_matches('/').to_owned())
        .collect()
}

/// Returns the crates of this repository that a crate uses, without those of its tests.
fn used_crates(folder: &str) -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = dependencies.lines().filter_map(|line| line.strip_prefix("browser-shell-")?.split('.').next());
    names.map(|name| format!("crates/{name}")).collect()
}

#[test]
fn crates_use_only_crates_below_them() {
    for (place, folder) in CRATES.iter().enumerate() {
        for used in used_crates(folder) {
            assert!(CRATES[..place].contains(&used.as_str()), "{folder} uses {used}");
        }
    }
    assert_eq!(used_crates("."), CRATES[..CRATES.len() - 1], "control: the program uses all");
    // The two engines do not know each other.
    assert!(!used_crates("crates/agent-browser").contains(&"crates/engine".to_owned()));
}

#[test]
fn architecture_page_lists_crates_and_modules() {
    let page = page("ARCHITECTURE.md");
    let folders = spans_of_column(&page, "\n## Crates\n", 0);
    let program = CRATES.iter().map(|folder| if *folder == "." { "src" } else { folder });
    assert_eq!(folders, program.collect::<Vec<_>>());
    for (heading, folder) in [
        ("\n### The core\n", "crates/core/src"),
        ("\n### The gate\n", "crates/browser/src/gate"),
        ("\n### The program\n", "src"),
    ] {
        let listed: BTreeSet<_> = spans_of_column(&page, heading, 0).into_iter().collect();
        let graph = graph(&root().join(folder));
        let modules: BTreeSet<_> =
            graph.keys().filter_map(|module| module.first()).filter(|name| *name != "testing").cloned().collect();
        assert_eq!(listed, modules, "{folder}");
    }
}

#[test]
fn contributing_page_lists_every_folder() {
    fn add_missing(folder: &str, listed: &BTreeSet<String>, missing: &mut Vec<String>) {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let is_made = name.starts_with('.')
                || ["target", "snapshots", "node_modules", "__pycache__"].contains(&name.as_str());
            if is_made || !entry.file_type().unwrap().is_dir() {
                continue;
            }
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if listed.iter().any(|other| other.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'))) {
                add_missing(&path, listed, missing);
            } else if !listed.contains(&path) {
                missing.push(path);
            }
        }
    }
    let listed: BTreeSet<_> =
        spans_of_column(&page("CONTRIBUTING.md"), "\n## Where things are\n", 0).into_iter().collect();
    for path in &listed {
        assert!(root().join(path).exists(), "{path} does not exist");
    }
    let mut missing = Vec::new();
    add_missing("", &listed, &mut missing);
    assert!(missing.is_empty(), "CONTRIBUTING.md lacks {missing:?}");
    let mut without_one = listed;
    assert!(without_one.remove("crates/browser"), "control");
    add_missing("", &without_one, &mut missing);
    assert_eq!(missing, ["crates/browser"]);
}

#[test]
fn core_has_no_io_dependencies() {
    let manifest = std::fs::read_to_string(root().join("crates/core/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    assert!(dependencies.contains("serde_json"), "control: the dependencies were found");
    for name in ["tokio", "hyper", "axum", "landlock", "rustix", "libc", "rmcp", "clap", "hickory", "reqwest"] {
        assert!(!dependencies.lines().any(|line| line.starts_with(name)), "{name}");
    }
    for file in sources(&root().join("crates/core/src")) {
        let parsed = syn::parse_file(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let mut found = Vec::new();
        paths(without_tests(parsed.items), &[], &mut found);
        for path in found {
            let named: Vec<_> = path.iter().map(String::as_str).collect();
            for refused in [["std", "fs"], ["std", "process"], ["std", "env"], ["std", "thread"]] {
                assert!(!named.starts_with(&refused), "{}: {}", file.display(), named.join("::"));
            }
            assert!(!named.ends_with(&["Instant"]) && !named.ends_with(&["SystemTime"]), "{}", file.display());
        }
    }
}

#[test]
fn import_finder_sees_groups_macros_and_bodies() {
    let text = "use crate::a::{B, c::{self, D}}; use super::e; fn f() { g!(crate::h::I); self::j::k(); }";
    let mut found = Vec::new();
    paths(text.parse().unwrap(), &[], &mut found);
    let found: Vec<_> = found.iter().map(|path| path.join("::")).collect();
    for path in ["crate::a::B", "crate::a::c::self", "crate::a::c::D", "super::e", "crate::h::I", "self::j::k"] {
        assert!(found.iter().any(|other| other == path), "{path}: {found:?}");
    }
    assert!(!found.iter().any(|path| path == "crate::a"), "{found:?}");
    let module = |name: &str| vec![name.to_owned()];
    let edges = |pairs: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in pairs {
            graph.entry(module(from)).or_default().insert(module(to));
        }
        graph
    };
    assert_eq!(circle(&edges(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    assert_eq!(circle(&edges(&[("a", "b"), ("b", "c"), ("c", "b")])), Some(vec![module("b"), module("c")]));
}

#[test]
fn one_module_names_versions_of_agent_browser() {
    let is_version = |text: &str| {
        AgentBrowser::ALL.iter().any(|kind| {
            let (minor, _) = kind.tested_version().rsplit_once('.').unwrap();
            text.contains(minor)
        })
    };
    let found: Vec<_> = CRATES
        .iter()
        .flat_map(|folder| sources(&root().join(folder).join("src")))
        .filter(|file| is_version(&std::fs::read_to_string(file).unwrap()))
        .map(|file| file.canonicalize().unwrap().strip_prefix(root()).unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(found, ["crates/core/src/agent_browser.rs"], "name the kind instead of the version");
}

#[test]
fn only_listed_files_write_to_a_terminal() {
    // These escape what they write, or write constants, or only ask what the stream is.
    let listed = [
        "crates/agent-browser/src/sandbox/container/relay.rs",
        "crates/browser/src/launch/external.rs",
        "crates/browser/src/launch/helper.rs",
        "crates/system/src/os/log.rs",
        "crates/system/src/os/reexec.rs",
        "src/cli/doctor/mod.rs",
        "src/cli/output.rs",
        "src/cli/process.rs",
    ];
    let mut found: Vec<_> = CRATES
        .iter()
        .flat_map(|folder| sources(&root().join(folder).join("src")))
        .filter(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            ["io::stdout()", "io::stderr()", "println!(", "eprint!("].iter().any(|writer| text.contains(writer))
        })
        .map(|file| file.canonicalize().unwrap().strip_prefix(root()).unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    assert_eq!(found, listed, "write by `cli::output`, or by the log");
}
