//! Files of the program that the runtime starts as Chromium: its profile and its private folder, and no secret of anyone.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use super::{super::harness::processes::wait_for, server::Setup};

/// Attempts, each printed with its result, which is a refusal for those with `-`. `%` is the folder of the runtime under test.
const ATTEMPTS: &str = r#"
try() { local name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name: ok"; else echo "$name: refused"; fi; }
write() { echo x >>"$1"; }
try '+write the profile' write "$profile/written"
try '+write a temporary file' write "$TMPDIR/written"
try '+read a library' cat /usr/bin/env
try '+read fonts' ls /etc/fonts
try '+start a program' /usr/bin/true
try '+write nothing' write /dev/null
try '-read the token' cat %/token
try '-read a key of the runtime' cat %/run/b/key
try '-list the folder of the runtime' ls %/run/b
try '-read a file of the agent' cat %/workspace/notes.txt
try '-write into the workspace' write %/workspace/planted
try '-read the environment of the runtime' grep = "/proc/$PPID/environ"
try '-read a startup file of a home' cat %/home/.profile
try '-write a startup file of a home' write %/home/.profile
try '-write its own program' write "$0"
try '-write for everyone' write %/planted
try '-see the folder of the runtime' readlink "/proc/$PPID/cwd"
try '-signal the runtime' kill -0 "$PPID"
"#;

/// Returns the results, by name.
fn results(text: &str) -> BTreeMap<String, String> {
    text.lines().filter_map(|line| line.split_once(": ")).map(|(name, result)| (name.into(), result.into())).collect()
}

// Requirement 5.1.
#[test]
#[ignore = "needs bash and Landlock: run ./dev test"]
fn program_started_as_chromium_uses_only_its_files() {
    let setup = Setup::stand_in().token("0123456789abcdef0123456789abcdef");
    let folder = setup.folder();
    for (path, text) in [("workspace/notes.txt", "private"), ("home/.profile", ""), ("run/b/key", "private")] {
        fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
        fs::write(folder.join(path), text).unwrap();
    }
    for private in ["run", "run/b"] {
        fs::set_permissions(folder.join(private), fs::Permissions::from_mode(0o700)).unwrap();
    }
    let attempts = ATTEMPTS.replace("%/workspace", &setup.mount().display().to_string());
    let attempts = attempts.replace('%', &folder.display().to_string());
    let program = folder.join("browser-program/attempts");
    let script = format!(
        "#!/bin/bash\nfor flag; do case $flag in --user-data-dir=*) profile=${{flag#*=}} ;; esac; done\n\
         {{ {attempts} }} >\"$profile/draft\"\nmv \"$profile/draft\" \"$profile/results\"\nexec sleep 600\n"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mount = setup.mount();
    let runtime = setup.with("BROWSER_SHELL_CHROMIUM", &program).start_unready();
    let written = |profile: &Path| fs::read_to_string(profile.join("results")).ok();
    let inside = wait_for("the results", || written(&mount.join(".browser/profile")));
    let inside = results(&inside);
    assert_eq!(inside.len(), ATTEMPTS.matches("\ntry '").count(), "{inside:#?}");
    for (name, result) in &inside {
        let expected = if name.starts_with('+') { "ok" } else { "refused" };
        assert_eq!(result, expected, "{name}: {inside:#?}");
    }
    // Control: the same program, started by the test.
    let profile = folder.join("control");
    fs::create_dir(&profile).unwrap();
    let mut control = Command::new(&program)
        .arg(format!("--user-data-dir={}", profile.display()))
        .env("TMPDIR", &profile)
        .spawn()
        .unwrap();
    let outside = results(&wait_for("the results of the control", || written(&profile)));
    control.kill().unwrap();
    control.wait().unwrap();
    for name in inside.keys() {
        assert_eq!(outside[name], "ok", "control, {name}: {outside:#?}");
    }
    drop(runtime);
}
