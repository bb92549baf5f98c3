//! File output stays below the workspace, whatever the path of a command and the existing files.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde_json::json;

use super::server::{Runtime, Setup};

fn is_picture(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x89PNG"))
}

/// Lists every file below a folder, without following links.
fn files_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(
                files_below(&entry.path()).iter().map(|name| format!("{}/{name}", entry.file_name().display())),
            );
        } else {
            found.push(entry.file_name().display().to_string());
        }
    }
    found.sort_unstable();
    found
}

/// Returns the path in a reply, as agents see it.
fn path_of(runtime: &Runtime, cmd: &str) -> String {
    runtime.exec(cmd).ok().data()["path"].as_str().unwrap().to_owned()
}

#[test]
fn screenshot_is_at_reported_path() {
    let runtime = Setup::stand_in().policy(&json!({"subcommands": {"enable": ["pdf"]}})).start();
    for (argument, stored) in [
        ("a.png", "a.png"),
        ("shots/b.png", "shots/b.png"),
        ("/workspace/c.png", "c.png"),
        ("/workspace/deep/er/d.png", "deep/er/d.png"),
        ("'/workspace/with space/é.png'", "with space/é.png"),
        ("#element shots/e.png", "shots/e.png"),
        ("a.png", "a.png"),
    ] {
        assert_eq!(path_of(&runtime, &format!("screenshot {argument}")), format!("/workspace/{stored}"), "{argument}");
        assert!(is_picture(&runtime.mount().join(stored)), "{argument}");
    }
    assert_eq!(path_of(&runtime, "pdf papers/p.pdf"), "/workspace/papers/p.pdf");
    assert!(runtime.mount().join("papers/p.pdf").exists());
    // Without a name, each screenshot gets a unique one.
    let names: Vec<_> = (0..3).map(|_| path_of(&runtime, "screenshot")).collect();
    for name in &names {
        let name = name.strip_prefix("/workspace/").unwrap();
        assert!(name.starts_with("screenshot-") && is_picture(&runtime.mount().join(name)), "{name}");
        assert_eq!(names.iter().filter(|other| other.ends_with(name)).count(), 1);
    }
}

#[test]
fn path_outside_workspace_is_refused() {
    let runtime = Setup::stand_in().start();
    let out = runtime.folder();
    let before = files_below(&out).len();
    for path in [
        "../x.png",
        "a/../../x.png",
        "a/../x.png",
        "/x.png",
        "/etc/x.png",
        "/tmp/x.png",
        "/workspace",
        "/workspace/",
        "/workspace/../x.png",
        "/workspace/a/../../x.png",
        "/workspaces/x.png",
        "//workspace/x.png",
        "/workspace//x.png",
        "a//x.png",
        "./x.png",
        "a/./x.png",
        ".x.png",
        ".hidden/x.png",
        ".browser/profile/x.png",
        "/workspace/.browser/profile/x.png",
        "~/x.png",
        "'a\\b.png'",
        "'C:\\x.png'",
        "x.txt",
        "x",
        "dir/",
        "'a\nb.png'",
        "file:///tmp/x.png",
        "-x.png",
    ] {
        let answer = runtime.exec(&format!("screenshot #a {path}"));
        // `~` is an ordinary file name, because nothing expands it.
        assert!(answer.code == 64 || path.starts_with('~'), "{path}: {answer:?}");
    }
    runtime.exec(&format!("screenshot {}/x.png", out.display())).fails_with(64);
    let after = files_below(&out).len();
    assert!(after <= before + 2, "only the file named `~` may be written: {:?}", files_below(&out));
    assert_eq!(path_of(&runtime, "screenshot x.png"), "/workspace/x.png", "control");
}

#[test]
fn link_out_of_workspace_is_not_followed() {
    let runtime = Setup::stand_in().start();
    let (mount, outside) = (runtime.mount(), runtime.below("outside"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious.png"), "precious").unwrap();
    symlink(&outside, mount.join("absolute")).unwrap();
    symlink("../outside", mount.join("relative")).unwrap();
    symlink("absolute", mount.join("chain")).unwrap();
    symlink("/proc/self/root/tmp", mount.join("magic")).unwrap();
    symlink(outside.join("precious.png"), mount.join("file.png")).unwrap();
    symlink(outside.join("new.png"), mount.join("dangling.png")).unwrap();
    for path in [
        "absolute/x.png",
        "relative/x.png",
        "chain/x.png",
        "magic/x.png",
        "absolute/deep/x.png",
        "relative/precious.png",
    ] {
        let answer = runtime.exec(&format!("screenshot {path}"));
        assert_ne!(answer.code, 0, "{path}: {answer:?}");
        assert!(!answer.stderr.is_empty() && answer.stdout.is_empty(), "{path}: {answer:?}");
    }
    // The last component of a path: the link itself may be replaced, but not followed.
    for path in ["file.png", "dangling.png"] {
        runtime.exec(&format!("screenshot {path}"));
    }
    assert_eq!(files_below(&outside), ["precious.png"]);
    assert_eq!(fs::read_to_string(outside.join("precious.png")).unwrap(), "precious");
    // Control: real folders with the same names.
    for name in ["absolute", "relative"] {
        fs::remove_file(mount.join(name)).unwrap();
        assert_eq!(path_of(&runtime, &format!("screenshot {name}/x.png")), format!("/workspace/{name}/x.png"));
    }
}

#[test]
fn link_swapped_in_during_delivery_is_not_followed() {
    let runtime = Setup::stand_in().start();
    let (mount, outside) = (runtime.mount(), runtime.below("outside"));
    fs::create_dir(&outside).unwrap();
    fs::create_dir(mount.join("real")).unwrap();
    symlink(&outside, mount.join("link")).unwrap();
    let (done, mut written, mut refused) = (AtomicBool::new(false), 0, 0);
    thread::scope(|scope| {
        // `dir` is alternately a folder and a link out of the workspace. Each exchange is atomic.
        scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            fs::rename(mount.join("real"), mount.join("dir")).unwrap();
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, mount.join("dir"), CWD, mount.join("link"), RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Runs until both cases occurred. The race decides which one a command meets, not what is allowed.
        for number in 0..400 {
            let answer = runtime.exec(&format!("screenshot dir/{number}.png"));
            if answer.code == 0 {
                written += 1;
            } else {
                refused += 1;
            }
            if written >= 20 && refused >= 20 {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(files_below(&outside), <[String; 0]>::default(), "{written} written, {refused} refused");
    assert!(written > 0, "control: the folder must have been used too");
}

#[test]
fn existing_file_is_replaced_not_overwritten() {
    let runtime = Setup::stand_in().start();
    let (mount, outside) = (runtime.mount(), runtime.below("precious.png"));
    fs::write(&outside, "precious").unwrap();
    // A second name of a file outside the workspace.
    fs::hard_link(&outside, mount.join("hard.png")).unwrap();
    runtime.exec("screenshot hard.png");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
    // A folder, and a pipe without a reader.
    fs::create_dir(mount.join("folder.png")).unwrap();
    assert_ne!(runtime.exec("screenshot folder.png").code, 0);
    rustix::fs::mknodat(rustix::fs::CWD, mount.join("pipe.png"), rustix::fs::FileType::Fifo, 0o666.into(), 0).unwrap();
    runtime.exec_with(&json!({"cmd": "screenshot pipe.png", "timeout": 20, "sandbox_id": "x"}));
    assert!(path_of(&runtime, "screenshot after.png").ends_with("after.png"), "the session must remain usable");
}

#[test]
fn delivered_files_are_readable_by_workspace_users() {
    let runtime = Setup::stand_in().start();
    runtime.exec("screenshot dir/a.png").ok();
    let mode = |path: &str| fs::metadata(runtime.mount().join(path)).unwrap().permissions().mode() & 0o777;
    // Other containers mount the same folder under other users.
    assert_eq!((mode("dir/a.png") & 0o444, mode("dir") & 0o555), (0o444, 0o555));
    assert_eq!(mode("dir/a.png") & 0o022, 0, "others may read, not write");
}

#[test]
fn vanished_workspace_is_reported_and_recovers() {
    let runtime = Setup::stand_in().start();
    let (mount, away) = (runtime.mount(), runtime.below("away"));
    runtime.exec("screenshot a.png").ok();
    fs::rename(&mount, &away).unwrap();
    let answer = runtime.exec("screenshot b.png").fails_with(69);
    assert!(answer.stderr.starts_with("workspace-unavailable"), "{answer:?}");
    assert!(!mount.join("b.png").exists(), "the missing folder must not be created");
    runtime.exec("snapshot").ok();
    fs::rename(&away, &mount).unwrap();
    runtime.exec("screenshot c.png").ok();
    assert!(is_picture(&mount.join("c.png")));
}
