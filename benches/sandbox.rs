//! Cost of a sandbox at the start of a program, compared with a bare start of the same program.
//!
//!     cargo bench --bench sandbox
//!
//! Each backend that can run here starts `/bin/true` as it would start agent-browser, alternating with bare starts, so that load
//! of the machine affects both. Prints a Markdown table; for a backend that cannot run, it shows the reason.

#![allow(missing_docs, reason = "a program, not a library")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a wrong figure is worse than none")]
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use browser_shell::testing::Program;
use browser_shell::testing::ProgramFiles;
use browser_shell::testing::SessionPaths;
use browser_shell::testing::find_on_path;
use browser_shell::testing::plan;
use browser_shell::testing::{BACKENDS, LaunchMode, SandboxHost};
use browser_shell_core::policy::sandbox::{BackendName, SandboxPolicy};

const ROUNDS: usize = 500;
const WARM: usize = 20;

fn main() {
    let folder = std::env::temp_dir().join(format!("browser-shell-bench-{}", std::process::id()));
    let below = |name: &str| folder.join(name);
    let session = SessionPaths { key: "s".to_owned(), sockets: below("s"), private: below("k"), files: below("w") };
    std::fs::create_dir_all(&folder).unwrap();
    session.make().unwrap();
    session.make_files().unwrap();
    let bare = Program {
        path: Path::new("/bin/true").canonicalize().unwrap(),
        arguments: vec!["--session".into(), "s".into()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: session.cwd(),
    };
    let files = ProgramFiles::find(&bare.path, find_on_path("node").as_deref());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let executable = PathBuf::from(env!("CARGO_BIN_EXE_browser-shell"));
    let host = SandboxHost { executable: executable.clone(), reexec_path: executable, ..SandboxHost::detect() };
    let policy = SandboxPolicy::default();
    println!("| backend | enforced | bare start | confined start | added | ratio |\n|---|---|---|---|---|---|");
    for backend in BACKENDS.iter().filter(|backend| backend.name != BackendName::None) {
        // The other backends start one program for a session; a request to it is not a start.
        let LaunchMode::Wrap(wrap) = backend.launch_mode else { continue };
        let plan = plan(&policy, backend.name, &session, &files, &below("action-policy.json"), 9222);
        let enforcement = match runtime.block_on((backend.probe)(&host, &policy, &plan)) {
            Ok(enforcement) => enforcement,
            Err(reason) => {
                println!("| `{}` | cannot run: {reason} | | | | |", backend.name);
                continue;
            }
        };
        let confined = wrap(&host, &policy, &plan, &bare).unwrap();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for round in 0..WARM + ROUNDS {
            let (one, other) = (time(&bare), time(&confined));
            if round >= WARM {
                before.push(one);
                after.push(other);
            }
        }
        let (before, after) = (median(&mut before), median(&mut after));
        println!(
            "| `{}` | {enforcement} | {:.2} ms | {:.2} ms | {:.2} ms | {:.1} |",
            backend.name,
            before * 1e3,
            after * 1e3,
            (after - before) * 1e3,
            after / before
        );
    }
    session.remove();
    let _ = std::fs::remove_dir_all(folder);
}

fn time(program: &Program) -> Duration {
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).env_clear().current_dir(&program.directory);
    command.envs(program.environment.iter().map(|(name, value)| (name.as_ref(), value)));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().unwrap();
    let elapsed = start.elapsed();
    assert!(status.success(), "{program:?}: {status}");
    elapsed
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64)
}
