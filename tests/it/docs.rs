//! Documentation tests.
//!
//! Every JSON block and every `browser-shell` command of the README, the policy's page and the skill is taken from the page and
//! run against the real program; agent-browser is the stand-in. Tables that repeat what the program knows are compared with it.
//! Names in examples would need DNS: before a run, `example.com` and its subdomains are replaced by a public address.
//! `e2e::runtime_pages` runs the examples of the runtime with the real parts; its tables are compared here.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use browser_shell::testing::{BATCH_TIMEOUT, EXEC_TIMEOUT, MAX_COMMANDS};
use browser_shell_core::decision::Code;
use browser_shell_core::grammar::{Availability, GRAMMAR, SubcommandSpec, parse};
use browser_shell_core::grammar::{COMPAT, Profile};
use browser_shell_core::policy::file;
use browser_shell_core::session_id::NAME_PATTERN;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::harness::server::{PROGRAM, debugging_port, stand_in, stand_in_env};

mod translation;

const PAGES: &[&str] = &[
    "README.md",
    "README.zh-CN.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/policy.md",
    "docs/policy.zh-CN.md",
    "docs/promises.md",
    "docs/glossary.md",
    "docs/runtime-commands.md",
    "docs/benchmarks.md",
    "docs/compatibility.md",
    "docs/connect.md",
    "docs/how-to/intranet.md",
    "docs/how-to/nixos.md",
    "docs/how-to/operate.md",
    "docs/how-to/orchestrator.md",
    "docs/how-to/policies.md",
    "docs/how-to/serve.md",
    "docs/how-to/sessions.md",
    "docs/how-to/upgrade.md",
    "docs/how-to/upstream-proxy.md",
    "docs/deploy.md",
    "docs/deploy.zh-CN.md",
    "docs/licenses.md",
    "docs/nixos-options.md",
    "docs/reference.md",
    "docs/release.md",
    "docs/requirements.md",
    "docs/sizing.md",
    "docs/nix-verification.md",
    "docs/how-to/hardening.md",
    "rootfs/README.md",
    "tests/aio-base/README.md",
    "skills/browser-runtime/SKILL.md",
    "skills/browser-runtime/references/browser.md",
    "skills/browser-runtime/references/skills-lifecycle.md",
    "skills/browser-runtime/references/tools-reference.md",
    "skills/browser-shell/SKILL.md",
    "skills/zh-CN/browser-shell/SKILL.md",
    "fuzz/README.md",
    "crates/core/src/policy/data/README.md",
    "tests/e2e/README.md",
    "tests/runtime/README.md",
];
const ADDRESS: &str = "93.184.215.14";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the fenced blocks of a page: info string and text of each.
pub(crate) fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some((info.to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, body))) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// Returns the program with its own settings and all optional subcommands enabled.
fn program(home: &TempDir) -> Command {
    let policy = home.path().join("policy.json");
    let optional: Vec<_> = file::optional_subcommands().collect();
    std::fs::write(&policy, json!({ "subcommands": { "enable": optional } }).to_string()).unwrap();
    let mut command = Command::new(PROGRAM);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("BROWSER_SHELL_")) {
        command.env_remove(name);
    }
    command
        .current_dir(root())
        .env("BROWSER_SHELL_POLICY", policy)
        .env("BROWSER_SHELL_AGENT_BROWSER", stand_in())
        .env("BROWSER_SHELL_WORKSPACE", home.path().join("w"))
        .env("BROWSER_SHELL_RUNTIME_DIR", home.path().join("r"))
        // A stand-in, so that a browser that the developer has open is not used.
        .env("BROWSER_SHELL_CDP_PORT", debugging_port())
        .stderr(Stdio::null());
    command
}

/// Makes the calls and returns their results in the same order.
fn call_all(calls: &[Value]) -> Vec<Value> {
    let home = TempDir::with_prefix("d").unwrap();
    let mut server = program(&home).arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params":
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "docs", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    lines.extend(calls.iter().enumerate().map(|(id, arguments)| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "browser-shell", "arguments": arguments}})
    }));
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    let mut results = vec![Value::Null; calls.len()];
    let mut left = calls.len();
    let reader = std::io::BufReader::new(server.stdout.take().unwrap());
    for line in std::io::BufRead::lines(reader) {
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(id) = answer["id"].as_u64() {
            results[usize::try_from(id).unwrap()] = answer["result"]["structuredContent"].clone();
            left -= 1;
        }
        if left == 0 {
            break;
        }
    }
    drop(input);
    assert!(server.wait().unwrap().success());
    results
}

fn without_names(text: &str) -> String {
    text.replace("demo.example.com", ADDRESS).replace("example.com", ADDRESS)
}

/// Returns the exit code that an info string or a comment requires (`exit=77`), else 0.
fn wanted_exit(text: &str) -> i64 {
    text.split("exit=").nth(1).map_or(0, |rest| rest.trim().parse().unwrap())
}

#[test]
fn every_documented_call_gives_its_documented_exit_code() {
    let mut calls = Vec::new();
    let mut wanted = Vec::new();
    for name in ["README.md", "docs/reference.md", "skills/browser-shell/SKILL.md"] {
        for (info, body) in blocks(&page(name)) {
            let kind = info.split_whitespace().next().unwrap_or_default();
            if kind != "json" || info.contains("mcp") || info.contains("policy") {
                continue;
            }
            calls.push(
                serde_json::from_str(&without_names(&body)).unwrap_or_else(|error| panic!("{name}: {error}\n{body}")),
            );
            // The server of these examples has the other engine.
            let is_of_cdp = info.split_whitespace().any(|word| word == "cdp");
            wanted.push((name, if is_of_cdp { 64 } else { wanted_exit(&info) }, is_of_cdp));
        }
    }
    assert!(calls.len() > 20, "the examples were not found");
    for ((call, result), (name, exit, is_of_cdp)) in calls.iter().zip(call_all(&calls)).zip(wanted) {
        assert_eq!(result["exit_code"], exit, "{name}: {call}\n{result}");
        let names_cdp = result["stderr"].as_str().is_some_and(|text| text.contains("`cdp` has it"));
        assert_eq!(names_cdp, is_of_cdp, "{name}: {call}\n{result}");
    }
}

#[test]
fn skill_shows_every_subcommand() {
    let skill = page("skills/browser-shell/SKILL.md");
    let (mut shown, mut optional) = (BTreeSet::new(), BTreeSet::new());
    for (info, body) in blocks(&skill) {
        let call: Value = serde_json::from_str(&body).unwrap();
        let name = call["argv"][0].as_str().unwrap().to_owned();
        if info.contains("optional-form") {
            continue;
        }
        if info.contains("optional") {
            optional.insert(name)
        } else {
            shown.insert(name)
        };
    }
    let of = |wanted| {
        GRAMMAR.iter().filter(|row| row.availability == wanted).map(|row| row.name.to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(shown, of(Availability::On));
    assert_eq!(optional, of(Availability::Optional));
}

#[test]
fn skills_have_valid_front_matter() {
    for name in ["browser-shell", "browser-runtime", "zh-CN/browser-shell"] {
        let skill = page(&format!("skills/{name}/SKILL.md"));
        let front = skill.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("front matter").0;
        let members: Vec<_> = front.lines().map(|line| line.split_once(": ").expect("name: value")).collect();
        assert_eq!(members.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["name", "description"]);
        assert_eq!(Some(members[0].1), name.rsplit('/').next(), "a skill has the name of its folder");
        let description = members[1].1;
        assert!((20..=1024).contains(&description.len()) && !description.contains(": "), "{description}");
        let has_references = root().join(format!("skills/{name}/references")).exists();
        assert!(!has_references || skill.lines().count() < 150, "{name}: what is longer belongs into its references");
    }
}

/// Returns the cells of the table rows that begin with `beginning`.
fn rows(text: &str, beginning: &str) -> Vec<Vec<String>> {
    // `\|` does not end a cell
    let lines = text.lines().filter(|line| line.starts_with(beginning)).map(|line| line.replace("\\|", "\u{0}"));
    let cells = |line: String| {
        let inner = line.trim_matches('|').to_owned();
        inner.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
    };
    lines.map(cells).collect()
}

/// Returns each form of each command with its state in the profiles `strict` and `compat`; empty if the profile lacks it.
fn forms_of_the_runtime() -> BTreeMap<String, [&'static str; 2]> {
    let mut forms: BTreeMap<String, [&str; 2]> = BTreeMap::new();
    for (column, profile) in [Profile::Strict, Profile::Compat].into_iter().enumerate() {
        for row in profile.rows() {
            let state = if profile.needs_enabling(row) { "if enabled" } else { "on" };
            for form in row.forms.iter().filter(|form| profile.offers(form, |_| true)) {
                let state = if form.needs.is_some() { "if enabled" } else { state };
                let usage = format!("{} {}", row.name, form.usage()).trim_end().to_owned();
                forms.entry(usage).or_default()[column] = state;
            }
        }
    }
    forms
}

// Requirement 4.3.
#[test]
fn runtime_reference_lists_every_command_of_both_profiles() {
    let text = page("skills/browser-runtime/references/tools-reference.md");
    let (_, table) = text.split_once("## All commands").expect("the table has a heading of its own");
    let (table, _) = table.split_once("\n## ").expect("and something behind it");
    let listed: BTreeMap<_, _> = rows(table, "| `")
        .into_iter()
        .map(|cells| (cells[0].trim_matches('`').to_owned(), [cells[1].clone(), cells[2].clone()]))
        .collect();
    let forms = forms_of_the_runtime();
    let expected: BTreeMap<_, _> =
        forms.into_iter().map(|(usage, states)| (usage, states.map(str::to_owned))).collect();
    assert_eq!(listed, expected);
}

// Requirement 4.3.
#[test]
fn runtime_skill_states_request_ranges() {
    let (skill, reference) =
        (page("skills/browser-runtime/SKILL.md"), page("skills/browser-runtime/references/tools-reference.md"));
    for range in [EXEC_TIMEOUT, BATCH_TIMEOUT] {
        let text = format!("{} to {}, default {}", range.min, range.max, range.default);
        assert!(skill.contains(&text) && reference.contains(&text), "{text}");
    }
    assert!(skill.contains(&format!("1 to {MAX_COMMANDS} of them")));
    assert!(reference.contains(&format!("| 1 to {MAX_COMMANDS} strings |")) && reference.contains(NAME_PATTERN));
}

// Requirement 4.3.
#[test]
fn runtime_reference_shows_every_command() {
    let mut shown = BTreeSet::new();
    for (_, body) in blocks(&page("skills/browser-runtime/references/tools-reference.md"))
        .into_iter()
        .filter(|(info, _)| info.starts_with("json call"))
    {
        let request: Value = serde_json::from_str(&body).unwrap();
        let commands = request["commands"].as_array().cloned().unwrap_or_else(|| vec![request["cmd"].clone()]);
        shown.extend(commands.iter().map(|cmd| cmd.as_str().unwrap().split(' ').next().unwrap().to_owned()));
    }
    // The profile has the engine agent-browser.
    let has_form = |row: &&SubcommandSpec| row.forms.iter().any(|form| !form.is_of_cdp());
    let names: BTreeSet<_> = Profile::Compat.rows().filter(has_form).map(|row| row.name.to_owned()).collect();
    assert_eq!(shown, names);
}

// Requirement 4.3.
#[test]
fn runtime_reference_lists_valid_codes_and_exit_codes() {
    let text = page("skills/browser-runtime/references/tools-reference.md");
    let (_, table) = text.split_once("## Exit codes").expect("the table has a heading of its own");
    let mut listed = BTreeSet::new();
    for cells in rows(table, "| ").into_iter().filter(|cells| cells[1].starts_with('`')) {
        for name in cells[1].split(", ").map(|name| name.trim_matches('`')) {
            let code = Code::ALL.iter().find(|code| code.as_str() == name).unwrap_or_else(|| panic!("`{name}`"));
            let exit = code.class().exit_code().unwrap();
            // the contract has exit codes of its own for what could not run
            let is_contracts = cells[0].starts_with("-1, or ");
            assert!(is_contracts || cells[0] == exit.to_string(), "{name}: {} and {exit}", cells[0]);
            listed.insert(exit);
        }
    }
    assert_eq!(listed, BTreeSet::from([1, 64, 69, 75, 77, 124, 130]));
}

// Requirement 4.1.
#[test]
fn orchestrator_page_lists_flags_of_help() {
    let help = Command::new(PROGRAM).args(["runtime", "--help"]).env_clear().env("COLUMNS", "2000").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let mut flags = BTreeMap::new();
    for part in help.split("\n      --").skip(1) {
        let flag = part.lines().next().unwrap().trim().replace(['<', '>'], "");
        let inside = |name: &str| {
            let (_, rest) = part.split_once(&format!("[{name}: "))?;
            Some(rest.split_once(']').unwrap().0.trim_end_matches('=').to_owned())
        };
        flags.insert(format!("--{flag}"), (inside("env").expect("every flag has a variable"), inside("default")));
    }
    assert!(flags.len() > 20, "{help}");
    let text = page("docs/how-to/orchestrator.md");
    let mut listed = BTreeMap::new();
    for cells in rows(&text, "| `--").into_iter().filter(|cells| cells.len() == 4) {
        listed.insert(cells[0].trim_matches('`').to_owned(), (cells[1].trim_matches('`').to_owned(), cells[2].clone()));
    }
    let names = |all: &mut dyn Iterator<Item = (&String, &String)>| -> Vec<String> {
        all.map(|(flag, variable)| format!("{flag} {variable}")).collect()
    };
    assert_eq!(
        names(&mut listed.iter().map(|(flag, (variable, _))| (flag, variable))),
        names(&mut flags.iter().map(|(flag, (variable, _))| (flag, variable))),
    );
    for (flag, (_, default)) in flags {
        let (_, cell) = &listed[&flag];
        let plain = cell.replace('`', "");
        match default {
            Some(default) => assert_eq!(plain, default.replace('`', ""), "{flag}"),
            None => assert!(!plain.is_empty(), "{flag}"),
        }
    }
    // what only the orchestrator says has no flag, and is named all the same
    for variable in ["BAY_SANDBOX_ID", "BAY_CONTAINER_NAME", "BAY_SESSION_ID", "BAY_PROFILE_ENV"] {
        assert!(text.contains(variable) && help.contains(variable), "{variable}");
    }
}

// Requirement 4.1.
#[test]
fn orchestrator_page_lists_container_flags() {
    let text = page("docs/how-to/orchestrator.md");
    let listed: BTreeSet<_> = rows(&text, "| `--")
        .into_iter()
        .filter(|cells| cells.len() == 2)
        .flat_map(|cells| cells[0].split(", `").map(|flag| flag.trim_matches('`').to_owned()).collect::<Vec<_>>())
        .collect();
    let flags: BTreeSet<_> = page("deploy/runtime/flags").lines().map(str::to_owned).collect();
    // how it is reached is the orchestrator's business
    let is_meant = |flag: &&String| !flag.starts_with("--publish=");
    assert_eq!(listed, flags.iter().filter(is_meant).cloned().collect());
}

/// Returns the value of each `KEY: VALUE` of the profile that the orchestrator's page shows.
fn profile_values(key: &str) -> Vec<String> {
    let profile = blocks(&page("docs/how-to/orchestrator.md"))
        .into_iter()
        .find(|(info, body)| info == "yaml" && body.starts_with("profiles:"))
        .expect("the page shows a profile")
        .1;
    let value = |line: &str| Some(line.trim().strip_prefix(key)?.strip_prefix(": ")?.trim_matches('"').to_owned());
    profile.lines().filter_map(value).collect()
}

// A page that reaches the port of a runtime can give it commands.
#[test]
fn orchestrator_recipe_denies_every_port_of_its_profile() {
    let (_, recipe) = blocks(&page("docs/how-to/orchestrator.md"))
        .into_iter()
        .find(|(info, body)| info == "json policy" && body.contains("allow_cidrs"))
        .expect("the page shows a policy");
    let recipe: Value = serde_json::from_str(&recipe).unwrap();
    let example: Value = serde_json::from_str(&page("examples/policy.orchestrator.json")).unwrap();
    assert_eq!(example, recipe);

    // the orchestrator's own port
    let mut ports = vec!["8114".to_owned()];
    ports.extend(profile_values("runtime_port"));
    assert_eq!(ports.len(), 3, "the containers of the profile were not found");
    let denied = recipe["open"]["deny_ports"].as_array().unwrap();
    for port in ports {
        assert!(denied.contains(&json!(port.parse::<u16>().unwrap())), "{port}: {denied:?}");
    }
}

#[test]
fn orchestrator_profile_leaves_chromium_time_to_exit() {
    // The orchestrator stops a container within 10 s. Chromium needs some of them.
    let grace = profile_values("BROWSER_SHELL_GRACE_SEC");
    assert_eq!(grace.len(), 1);
    assert!(grace[0].parse::<u64>().unwrap() <= 5, "{grace:?}");
    assert_eq!(profile_values("BROWSER_SHELL_PROFILE"), ["compat"]);
}

#[test]
fn every_policy_example_is_valid() {
    let mut count = 0;
    for name in PAGES {
        for (_, body) in blocks(&page(name)).into_iter().filter(|(info, _)| info == "json policy") {
            file::parse_for_home(&body, Some(Path::new("/home/u")))
                .unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
            count += 1;
        }
    }
    assert!(count >= 3);
    file::parse(&page("examples/policy.example.json")).expect("the example policy is valid");
}

#[test]
fn connect_page_names_skill_of_image() {
    let nix = page("nix/rootfs.nix");
    let (_, rest) = nix.split_once("\n  skill = \"").expect("the image has a skill");
    let (folder, _) = rest.split_once('"').expect("the path ends");
    assert!(folder.starts_with('/') && page("docs/connect.md").contains(&format!("`{folder}/SKILL.md`")), "{folder}");
}

#[test]
fn every_client_snippet_names_an_existing_server() {
    let mut count = 0;
    for name in PAGES {
        for (_, body) in blocks(&page(name)).into_iter().filter(|(info, _)| info == "json mcp") {
            let snippet: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{name}: {error}\n{body}"));
            let servers = snippet.get("mcpServers").or_else(|| snippet.get("servers")).unwrap().as_object().unwrap();
            assert_eq!(servers.len(), 1, "{name}: {snippet}");
            for server in servers.values() {
                let text = server.to_string();
                let over_http = text.contains("\"http://127.0.0.1:8080/mcp\"");
                assert!(over_http || server["command"] == "browser-shell", "{name}: {server}");
                assert_eq!(text.contains("Authorization"), *name == "docs/connect.md", "{name}: {server}");
            }
            count += 1;
        }
    }
    // three in each README
    assert_eq!(count, 2 * 3 + 5);
    // `e2e::own_browser` runs it.
    let first: Value = serde_json::from_str(&blocks(&page("README.md"))[0].1).unwrap();
    assert_eq!(first["mcpServers"]["browser"], json!({"command": "browser-shell", "args": ["mcp", "--browser"]}));
}

#[test]
fn every_documented_command_runs() {
    let home = TempDir::with_prefix("d").unwrap();
    // The server that examples expect on port 8080.
    let server = stand_in_env().serve_http();
    let mut count = 0;
    for name in PAGES {
        for (_, body) in blocks(&page(name)).into_iter().filter(|(info, _)| info == "sh") {
            for line in body.lines() {
                let (command, comment) = line.split_once(" #").unwrap_or((line, ""));
                let command = without_names(command).replace("http://127.0.0.1:8080/mcp", &server.url());
                let command = command.replace("--save ", &format!("--save {}/", home.path().display()));
                let words: Vec<&str> = command.split_whitespace().collect();
                if words.first() != Some(&"browser-shell") {
                    continue;
                }
                let status = program(&home).args(&words[1..]).stdout(Stdio::null()).status().unwrap();
                assert_eq!(status.code().map(i64::from), Some(wanted_exit(comment)), "{name}: {line}");
                count += 1;
            }
        }
    }
    assert!(count >= 8, "the commands were not found");
}

#[test]
fn every_documented_dev_command_is_in_its_help() {
    let help = Command::new(root().join("dev")).arg("help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for name in PAGES {
        for (_, body) in blocks(&page(name)).into_iter().filter(|(info, _)| info == "sh") {
            for line in body.lines() {
                let mut words = line.split_whitespace();
                if words.next() == Some("./dev") {
                    let word = words.next().unwrap();
                    assert!(word == "help" || help.contains(&format!("./dev {word}")), "{name}: {line}");
                }
            }
        }
    }
}

#[test]
fn every_link_between_pages_resolves() {
    let design = design_pages().into_iter().map(|name| format!("docs/design/{name}"));
    for name in PAGES.iter().map(|name| (*name).to_owned()).chain(design) {
        let folder = root().join(&name);
        for link in page(&name).split("](").skip(1) {
            let target = link.split(')').next().unwrap();
            if !target.contains("://") && !target.starts_with('#') {
                let target = target.split('#').next().unwrap();
                assert!(folder.parent().unwrap().join(target).exists(), "{name}: {target}");
            }
        }
    }
}

/// Returns the file names in `docs/design`, the index included.
fn design_pages() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("docs/design")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn design_pages_are_indexed_and_have_four_sections() {
    let index = page("docs/design/README.md");
    let pages: Vec<_> = design_pages().into_iter().filter(|name| name != "README.md").collect();
    assert!(pages.len() > 10, "the pages were not found");
    for name in pages {
        assert!(index.contains(&format!("]({name})")), "docs/design/README.md does not list {name}");
        let text = page(&format!("docs/design/{name}"));
        let sections: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(sections, ["Context", "Decision", "Alternatives", "Consequences"], "{name}");
    }
}

#[test]
fn changelog_begins_with_release_of_this_version() {
    let changelog = page("CHANGELOG.md");
    let sections: Vec<_> = changelog.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let releases = sections.strip_prefix(&["Unreleased"]).unwrap_or(&sections);
    assert!(!releases.contains(&"Unreleased"), "{sections:?}");
    let (version, date) = releases.first().and_then(|name| name.split_once(" - ")).expect("VERSION - DATE");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let digits: Vec<_> =
        date.split('-').map(|part| (part.len(), part.bytes().all(|byte| byte.is_ascii_digit()))).collect();
    assert_eq!(digits, [(4, true), (2, true), (2, true)], "{date}");
}

#[test]
fn known_differences_of_pages_are_rows_of_their_page() {
    let known: serde_json::Map<String, Value> = serde_json::from_str(&page("benches/platform/known.json")).unwrap();
    let table = page("docs/compatibility.md");
    let rows: BTreeSet<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| <a id=\"")?.split('"').next()).collect();
    // Dialogs are answered in both browsers of the comparison.
    assert_eq!(rows, known.keys().map(String::as_str).chain(["questions"]).collect());
    assert!(
        known.values().all(|patterns| patterns.as_array().is_some_and(|patterns| !patterns.is_empty())),
        "{known:?}"
    );
}

#[test]
fn every_promise_names_existing_tests() {
    fn sources(folder: &Path, all: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("node_modules") {
                sources(&path, all);
            } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("stack/long.rs") {
                // Without the tests that only `./dev test all` runs.
                all.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut all = String::new();
    sources(&root().join("crates"), &mut all);
    sources(&root().join("src"), &mut all);
    sources(&root().join("tests"), &mut all);
    let exists = |test: &str| all.contains(&format!("fn {test}("));
    let list = page("tests/dev/only-in-all");
    let only_in_all: Vec<_> =
        list.lines().filter(|line| !line.starts_with('#')).filter_map(|path| path.rsplit("::").next()).collect();
    assert!(!only_in_all.is_empty() && only_in_all.iter().all(|test| exists(test)), "{only_in_all:?}");
    let promises = page("docs/promises.md");
    let rows: Vec<_> = promises
        .lines()
        .filter(|line| line.starts_with("| ") && *line != "| promise | mechanism | test |")
        .map(|row| row.strip_suffix(" |").and_then(|row| row.rsplit_once("| ")).unwrap_or_else(|| panic!("{row}")).1)
        .collect();
    assert!(rows.len() > 150, "the tables were not found");
    for row in rows {
        let tests = row.split(", ").map(|cell| match cell.strip_suffix('*') {
            Some(cell) => (cell.trim_matches('`'), true),
            None => (cell.trim_matches('`'), false),
        });
        for (test, has_star) in tests.clone() {
            assert!(exists(test), "{test}");
            assert_eq!(has_star, only_in_all.contains(&test), "{test}: a star is for tests that only `all` runs");
        }
        assert!(tests.into_iter().any(|(_, has_star)| !has_star), "each run needs a test of: {row}");
    }
}

#[test]
fn reference_lists_subcommands_of_grammar_table() {
    let reference = page("docs/reference.md");
    for row in GRAMMAR {
        let usage = row.usage().replace('|', "\\|");
        let mark = if row.availability == Availability::On { "" } else { "optional " };
        let line = format!("| `{usage}` | {mark}| {} |", row.summary);
        assert!(reference.contains(&line), "docs/reference.md lacks:\n{line}");
    }
}

#[test]
fn reference_lists_forms_with_names_of_their_own() {
    let reference = page("docs/reference.md");
    for name in Profile::Tool.optional_forms() {
        assert!(reference.contains(&format!("| `{name}` |")), "docs/reference.md lacks `{name}`");
    }
}

#[test]
fn monitoring_names_metrics_and_codes_that_exist() {
    let metrics =
        page("crates/system/src/snapshots/browser_shell_system__metrics__tests__metrics_text_matches_snapshot.snap");
    let kinds = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let series: BTreeSet<String> = kinds
        .flat_map(|(name, kind)| {
            let endings: &[&str] = match kind {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_count", "_sum"],
                _ => &[""],
            };
            endings.iter().map(move |ending| format!("{name}{ending}"))
        })
        .collect();
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    for file in ["deploy/monitoring/alerts.yaml", "deploy/monitoring/grafana.json"] {
        let text = page(file);
        let names: BTreeSet<_> =
            text.split(|character| !is_name(character)).filter(|word| word.starts_with("browser_shell_")).collect();
        assert!(names.len() >= 6, "{file}: {names:?}");
        for name in names {
            assert!(series.contains(name), "{file}: {name} is none of {series:?}");
        }
        for codes in text.split("code=~\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            for code in codes.split('|') {
                assert!(Code::ALL.iter().any(|known| known.as_str() == code), "{file}: {code}");
            }
        }
    }
}

#[test]
fn page_for_operators_explains_every_alert() {
    let rules = page("deploy/monitoring/alerts.yaml");
    let alerts: Vec<_> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() >= 6, "{alerts:?}");
    let listed = rows(&page("docs/how-to/operate.md"), "| `BrowserShell");
    assert_eq!(listed.iter().map(|cells| cells[0].trim_matches('`')).collect::<Vec<_>>(), alerts);
}

#[test]
fn policies_page_shows_recommended_policy() {
    let mut file: Value = serde_json::from_str(&page("examples/policy.recommended.json")).unwrap();
    file.as_object_mut().unwrap().remove("$schema").unwrap();
    let shown = blocks(&page("docs/how-to/policies.md")).into_iter().filter(|(info, _)| info == "json policy");
    let mut shown = shown.map(|(_, body)| serde_json::from_str::<Value>(&body).unwrap());
    assert!(shown.any(|policy| policy == file));
}

#[test]
fn readme_shows_calls_that_the_recommended_policy_takes() {
    let policy = file::parse(&page("examples/policy.recommended.json")).unwrap();
    let shown = rows(&page("README.md"), "| `browser_");
    assert!(shown.len() >= 12, "{shown:?}");
    for cells in shown {
        let argv: Vec<String> = serde_json::from_str(cells[1].trim_matches('`')).unwrap();
        parse(Profile::Tool, &argv, |name| policy.enables(name))
            .unwrap_or_else(|refusal| panic!("{argv:?}: {refusal:?}"));
    }
}

#[test]
fn readme_names_every_subcommand() {
    let readme = page("README.md");
    for (beginning, availability) in
        [("| always |", Availability::On), ("| if the policy enables it |", Availability::Optional)]
    {
        let names = GRAMMAR.iter().filter(|row| row.availability == availability).map(|row| format!("`{}`", row.name));
        let line = format!("{beginning} {} |", names.collect::<Vec<_>>().join(", "));
        assert!(readme.contains(&line), "README.md lacks:\n{line}");
    }
}

#[test]
fn runtime_page_lists_forms_of_compat_table() {
    let page = page("docs/runtime-commands.md");
    let (_, rest) = page.split_once("\n## Commands that only compat has\n").expect("a part for them");
    let (table, _) = rest.split_once("\n## ").expect("another part behind it");
    let listed: Vec<_> =
        table.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once("` |")?.0)).collect();
    let forms = COMPAT.iter().flat_map(|row| row.forms.iter().map(|form| format!("{} {}", row.name, form.usage())));
    let wanted: Vec<_> = forms.map(|usage| usage.trim_end().replace('|', "\\|")).collect();
    assert_eq!(listed, wanted);
}

#[test]
fn policy_page_lists_optional_subcommands() {
    let page = page("docs/policy.md");
    let list = |names: Vec<&str>| names.join(", ");
    for (field, names) in [
        ("subcommands.enable", list(file::optional_subcommands().collect())),
        ("runtime.enable", list(file::optional_runtime_subcommands().collect())),
    ] {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{field}` |"))).expect(field);
        assert!(row.ends_with(&format!(": {names} |")), "{row}");
    }
}

#[test]
fn reference_lists_settings_of_help() {
    let help = Command::new(PROGRAM).args(["mcp", "--help"]).env("COLUMNS", "2000").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, settings) = help.split_once("Settings:").expect("the settings have a heading of their own");
    let listed: Vec<_> =
        page("docs/reference.md").lines().filter(|line| line.starts_with("| `--")).map(str::to_owned).collect();
    let words: Vec<_> = settings.split(['[', ']', ' ', '\n', '=']).collect();
    let variables = words.iter().filter(|word| word.starts_with("BROWSER_SHELL_")).count();
    assert_eq!(listed.len(), variables, "{settings}");
    for line in listed {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        assert!(words.contains(&cells[1].split(' ').next().unwrap()), "{line}");
        assert!(words.contains(&cells[2]), "{line}");
        assert!(words.contains(&cells[3].split(' ').next().unwrap()), "{line}");
    }
}

#[test]
fn settings_in_the_readme_are_those_of_the_reference() {
    let without_meaning = |name: &str| -> Vec<Vec<String>> {
        rows(&page(name), "| `--").into_iter().map(|cells| cells[..3].to_vec()).collect()
    };
    let (readme, reference) = (without_meaning("README.md"), without_meaning("docs/reference.md"));
    assert!(readme.len() >= 3, "the table was not found");
    for row in readme {
        assert!(reference.contains(&row), "docs/reference.md lacks {row:?}");
    }
}

#[test]
fn pages_list_every_code_and_exit_code() {
    let policy = page("docs/policy.md");
    let readme = page("README.md");
    for code in Code::ALL {
        let exit = code.class().exit_code();
        let cell = exit.map_or_else(|| "own".to_owned(), |exit| exit.to_string());
        let line = format!("| `{code}` | {cell} | {} |", code.advice());
        assert!(policy.contains(&line), "docs/policy.md lacks:\n{line}");
        assert!(exit.is_none_or(|exit| readme.contains(&format!("| {exit} |"))), "{code}");
    }
}
