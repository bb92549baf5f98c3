//! `./dev`, as far as it can be tested without a build: its help, the progress of a build, the installation, and how a run of
//! the tests explains itself.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::harness::server::PROGRAM;

const COMMANDS: &[&str] =
    &["up", "runtime", "size", "status", "logs", "attack", "install", "test", "lint", "fmt", "bench"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn dev(arguments: &[&str]) -> (Option<i32>, String) {
    let run = Command::new(root().join("dev")).args(arguments).stdin(Stdio::null()).output().unwrap();
    (run.status.code(), text(&run))
}

fn text(run: &Output) -> String {
    [&run.stdout[..], &run.stderr[..]].map(String::from_utf8_lossy).concat()
}

#[test]
fn help_of_each_dev_command_describes_only_that_command() {
    let (code, list) = dev(&["help"]);
    assert_eq!(code, Some(0), "{list}");
    for command in COMMANDS {
        assert!(list.contains(&format!("./dev {command} ")), "{command}: {list}");
        let (code, help) = dev(&[command, "--help"]);
        assert_eq!(code, Some(0), "{command}: {help}");
        assert!(help.starts_with(&format!("Usage: ./dev {command}")), "{help}");
        assert_eq!(help.matches("Usage: ").count(), 1, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert_eq!(dev(&[command, "-h"]), (code, help.clone()), "{command}");
        // Options of other commands.
        for (option, owner) in [("--jwt", "up"), ("--shared", "runtime"), ("--follow", "logs"), ("--fast", "bench")] {
            assert_eq!(help.contains(option), *command == owner, "{command}: {help}");
        }
    }
    for arguments in [&["--help"][..], &["-h"], &[]] {
        assert_eq!(dev(arguments), (Some(0), list.clone()));
    }
    let (code, error) = dev(&["no-such-command", "--help"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("`no-such-command`") && error.contains("./dev help"), "{error}");
}

#[test]
fn agent_browser_that_is_missing_is_named() {
    for command in ["up", "runtime"] {
        for path in ["/nowhere/agent-browser", "docs", "README.md"] {
            let (code, output) = dev(&[command, "--agent-browser", path]);
            assert_eq!(code, Some(1), "{output}");
            assert!(output.contains(&format!("no agent-browser `{path}`")), "{output}");
            assert!(output.contains("tests/e2e/node_modules/agent-browser"), "{output}");
        }
    }
}

/// Writes a program into a folder. Another process writes it: this one may fork while the file is open for writing, and then
/// it cannot be started.
fn write_script(path: &Path, script: &str) {
    let mut write = Command::new("/bin/sh");
    write.args(["-c", r#"printf '%s' "$1" > "$0" && chmod 755 "$0""#]);
    assert!(write.arg(path).arg(script).status().unwrap().success());
}

/// Returns a bash command that builds as `./dev up` does, with a stand-in for cargo.
fn build_with(folder: &Path, cargo: &str) -> Command {
    write_script(&folder.join("cargo"), cargo);
    let script = r#"
        set -euo pipefail
        note() { printf '   %s\n' "$*"; }
        pause() { read -r -t "$1" <> <(:) || :; }
        . tests/build.sh
        # Every line that it would print in a long build.
        progress_interval=0
        start_build "$1/log"
        wait_for_build "$1/log" || { echo "failed with $?"; exit 1; }
        echo finished
    "#;
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash"]).arg(folder).current_dir(root()).env("PATH", path).stdin(Stdio::null());
    command
}

#[test]
fn build_without_terminal_prints_progress_now_and_then() {
    let folder = tempfile::tempdir().unwrap();
    let cargo = format!(
        "#!/bin/sh\necho '   Compiling alpha v1.0' >&2\nuntil [ -e {0}/go ]; do sleep 0.05; done\n",
        folder.path().display()
    );
    let mut build = build_with(folder.path(), &cargo).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(build.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("building"), "the first line must come at once");
    // The build ends only after a line said what it does.
    assert!(lines.any(|line| line.contains("Compiling alpha v1.0")));
    fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(lines.last().as_deref(), Some("finished"));
    assert!(build.wait().unwrap().success());
}

#[test]
fn failed_build_prints_the_messages_of_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let cargo = "#!/bin/sh\necho '   Compiling alpha v1.0' >&2\necho 'error: a reason' >&2\nexit 101\n";
    let run = build_with(folder.path(), cargo).output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run).contains("failed with 101"), "{}", text(&run));
    assert_eq!(String::from_utf8_lossy(&run.stderr), "error: a reason\n");
}

#[test]
fn install_puts_program_into_folder_and_names_missing_path() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("bin");
    let system = std::env::var("PATH").unwrap();
    let install = |path: &str, arguments: &[&str]| {
        let mut command = Command::new(root().join("dev"));
        command.arg("install").args(arguments).env("PATH", path).env("HOME", home.path());
        let run = command.stdin(Stdio::null()).output().unwrap();
        (run.status.code(), text(&run))
    };
    let to = folder.to_str().unwrap();
    let (code, output) = install(&system, &["--to", to, "--program", PROGRAM]);
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains(env!("CARGO_PKG_VERSION")) && output.contains("export PATH="), "{output}");
    let installed = folder.join("browser-shell");
    assert_eq!(fs::metadata(&installed).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(Command::new(&installed).arg("--version").status().unwrap().success());
    // Once more, over a program that may run, and now on the path.
    let on_path = format!("{to}:{system}");
    let (code, output) = install(&on_path, &["--to", to, "--program", PROGRAM]);
    assert_eq!(code, Some(0), "{output}");
    assert!(!output.contains("export PATH="), "{output}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file may be left");
    // Another program of the same name comes first.
    let other = home.path().join("other");
    let (code, output) = install(&on_path, &["--to", other.to_str().unwrap(), "--program", PROGRAM]);
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains(to) && output.contains("another one first"), "{output}");

    for arguments in [&["--to"][..], &["--bogus", "x"], &["--to", to, "--program", "/nowhere/program"]] {
        let (code, output) = install(&system, arguments);
        assert_eq!(code, Some(1), "{output}");
        assert!(output.contains("./dev install"), "{output}");
    }
}

#[test]
fn arguments_of_dev_test_are_checked_before_anything_runs() {
    for (arguments, named) in [
        (&["no-such-step"][..], "`no-such-step`"),
        (&["fmt", "no-such-step"], "`no-such-step`"),
        (&["all", "--part"], "`--part`"),
        (&["all", "--part", "0"], "`--part`"),
        (&["all", "--part", "10"], "`--part`"),
        (&["all", "--shard", "3"], "`--shard`"),
        (&["steady", "--times", "x"], "`--times`"),
    ] {
        let (code, output) = dev(&[&["test"], arguments].concat());
        assert_eq!(code, Some(1), "{output}");
        assert!(output.contains(named) && !output.contains("=="), "{arguments:?}: {output}");
    }
}

/// Runs a bash command with a text as its input, and returns what it prints.
fn bash(command: &str, folder: &Path, input: &str) -> String {
    let file = folder.join("input");
    fs::write(&file, input).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", command, "bash"]).arg(root()).current_dir(folder).stdin(fs::File::open(file).unwrap());
    let run = bash.output().unwrap();
    assert!(run.status.success(), "{run:?}");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn failed_step_names_what_failed_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let explain = |output: &str| bash(r#"awk -f "$1/tests/dev/failures.awk""#, folder.path(), output);
    let tests = "running 3 tests
test area::fails ... FAILED
test area::passes ... ok

failures:

---- area::fails stdout ----
a line of the test
\u{1b}[1mthread 'area::fails' (7) panicked at tests/it/area.rs:3:5:
assertion failed: a reason
stack backtrace:
   0: a frame

---- area::returns_an_error stdout ----
Error: another reason


failures:
    area::fails
    area::returns_an_error

test result: FAILED. 1 passed; 2 failed; 0 ignored
";
    assert_eq!(
        explain(tests),
        "  area::fails
      thread 'area::fails' (7) panicked at tests/it/area.rs:3:5:
      assertion failed: a reason
  area::returns_an_error
      Error: another reason
"
    );
    let names = bash(r#"awk -v names=1 -f "$1/tests/dev/failures.awk""#, folder.path(), tests);
    assert_eq!(names, "area::fails\narea::returns_an_error\n");
    let compiler =
        "   Compiling a\nerror[E0308]: mismatched types\n  --> src/a.rs:1:2\n   |\nerror: could not compile `a`\n";
    assert_eq!(explain(compiler), "  error[E0308]: mismatched types\n      --> src/a.rs:1:2\n");
    // Of what is not known, the end.
    let lines: Vec<_> = (1..=9).map(|number| format!("line {number}\n")).collect();
    assert_eq!(explain(&lines.concat()), format!("  {}", lines[3..].join("  ")));
}

/// Runs `./dev test fmt lint nix test` with stand-ins for what the jobs do. `await NAME` waits for `reach NAME` of another job.
fn run_of_stand_ins(stand_ins: &str) -> (Option<i32>, String) {
    let script = r#"
        set -euo pipefail
        . scripts/common.sh
        . tests/dev/run.sh
        reach() { : >"$scratch/reached.$1"; }
        await() { until [ -e "$scratch/reached.$1" ]; do sleep 0.02; done; }
        need_rust() { :; }
        need_component() { :; }
        need_target() { :; }
        need_system_python() { :; }
        step_fmt() { echo formatted; }
        build_tests() { echo built; }
        step_test() { :; }
        test_documentation() { :; }
        step_lint() { :; }
        step_nix() { :; }
        eval "$1"
        run_tests fmt lint nix test
    "#;
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash", stand_ins]).current_dir(root()).stdin(Stdio::null());
    command.env_remove("BROWSER_SHELL_TEST_LANES");
    let run = command.output().unwrap();
    (run.status.code(), text(&run))
}

#[test]
fn jobs_run_beside_each_other_and_print_their_output_whole() {
    let (code, output) = run_of_stand_ins(
        r#"
        step_test() { echo first of test; reach test; await doc; echo test result: ok. 3 passed"; 0 failed;"; }
        test_documentation() { echo first of doc; await test; reach doc; echo test result: ok. 4 passed"; 0 failed;"; }
        step_lint() { echo first of lint; echo last of lint >&2; }
        "#,
    );
    assert_eq!(code, Some(0), "{output}");
    for whole in [
        "first of test\ntest result: ok. 3 passed; 0 failed;\nok test, ",
        "first of doc\ntest result: ok. 4 passed; 0 failed;\nok doc, ",
        "first of lint\nlast of lint\nok lint, ",
    ] {
        assert!(output.contains(whole), "{output}");
    }
    let first = |part: &str| output.find(part).unwrap_or_else(|| panic!("no {part}: {output}"));
    assert!(first("\nok fmt, ") < first("\nbuilt\n") && first("\nok build, ") < first("first of test"), "{output}");
    assert!(output.contains("\nok: 5 steps, 7 tests passed, 0 failed, "), "{output}");
}

#[test]
fn failed_job_stops_the_others_and_is_named() {
    let (code, output) = run_of_stand_ins(
        r"
        step_test() { echo 'test area::fails ... FAILED'; reach test; await nothing; }
        step_nix() { await test; echo 'error: a reason' >&2; false; echo not reached; }
        step_lint() { echo started; }
        ",
    );
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("error: a reason\nFAILED nix, "), "{output}");
    assert!(output.contains("failed in jobs that did not end:\ntest area::fails ... FAILED\n"), "{output}");
    assert!(output.contains("FAILED in `nix`: ") && output.contains("\nTo repeat: ./dev test nix\n"), "{output}");
    let result = |step: &str| {
        let row = output.lines().find(|line| line.starts_with(&format!("{step:<10} ")) && line.contains(" s  "));
        row.and_then(|row| row.split(" s  ").last()).map(str::to_owned)
    };
    for (step, expected) in
        [("fmt", "ok"), ("build", "ok"), ("test", "stopped"), ("nix", "failed"), ("lint", "not run")]
    {
        assert_eq!(result(step).as_deref(), Some(expected), "{step}: {output}");
    }
    assert!(!output.contains("started") && !output.contains("not reached"), "{output}");
}

#[test]
fn failed_tests_let_the_other_jobs_end_and_are_all_named() {
    let (code, output) = run_of_stand_ins(
        r#"
        red() { printf -- '---- %s stdout ----\nError: a reason\n\ntest result: FAILED. 1 passed; 1 failed;\n' "$1"; return 101; }
        step_test() { red area::one; }
        test_documentation() { red area::two; }
        step_nix() { echo last of nix; }
        "#,
    );
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("last of nix\nok nix, "), "{output}");
    assert!(output.contains("FAILED in `test`: 2 tests passed, 2 failed, "), "{output}");
    assert!(output.contains("\nTo repeat: ./dev test test -- area::one area::two\n"), "{output}");
    assert_eq!(output.matches("FAILED in ").count(), 1, "{output}");
}

#[test]
fn failed_build_ends_the_run_before_any_test() {
    let (code, output) = run_of_stand_ins("build_tests() { echo 'error: a reason'; return 101; }");
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("error: a reason\n") && output.contains("FAILED build, "), "{output}");
    assert!(output.contains("FAILED in `build`: ") && output.contains("To repeat: cargo test "), "{output}");
    assert!(!output.contains("== lint") && !output.contains("== test"), "{output}");
}

#[test]
fn warnings_of_the_build_fail_lint_and_no_test() {
    let with = |line: &str| {
        run_of_stand_ins(&format!(
            r#"
            build_tests() {{ echo "built by ${{build_wrapper##*/}}"; }}
            cargo() {{ echo '{line}' >&2; }}
            step_lint() {{ check_build; }}
            "#
        ))
    };
    let (code, output) = with("warning: unused variable");
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("built by clippy-build\n") && output.contains("ok test, "), "{output}");
    assert!(output.contains("FAILED in `lint`: ") && output.contains("clippy reports warnings"), "{output}");
    let (code, output) = with("    Finished `test` profile");
    assert_eq!(code, Some(0), "control: {output}");
}

#[test]
fn steady_repeats_the_tests_that_a_diff_changes() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#[test]
fn first_is_unchanged() {
    before();
}

fn helper() {}

#[tokio::test]
#[ignore = \"a reason\"]
async fn second_is_changed() {
    within();
}

#[test]
fn third_is_on_one_line() {}
";
    fs::write(folder.path().join("a.rs"), source).unwrap();
    fs::write(folder.path().join("a.md"), source).unwrap();
    let changed = |hunk: &str| {
        let diff = format!("diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n{hunk}\n");
        bash(r#"python3 "$1/tests/dev/changed-tests""#, folder.path(), &diff)
    };
    assert_eq!(changed("@@ -11 +11 @@ fn"), "second_is_changed\n");
    assert_eq!(changed("@@ -9,0 +9 @@"), "second_is_changed\n");
    // Lines that are only removed, after line 3.
    assert_eq!(changed("@@ -4,2 +3,0 @@"), "first_is_unchanged\n");
    assert_eq!(changed("@@ -6 +6 @@"), "");
    assert_eq!(changed("@@ -1,0 +1,15 @@"), "first_is_unchanged\nsecond_is_changed\nthird_is_on_one_line\n");
    assert_eq!(changed("+++ b/a.md\n@@ -1,0 +1,15 @@"), "");
    assert_eq!(changed("+++ b/removed.rs\n@@ -1 +1 @@"), "");
}
