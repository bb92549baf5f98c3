//! `./dev up --demo`: the README's first example, on a machine without the internet.

use std::{
    fs,
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
};

use rustix::process::Signal;
use tempfile::TempDir;

use super::{
    super::{
        docs::{blocks, page},
        e2e::{chromium::spawn_from_permanent_thread, test_env},
        harness::{
            processes::{self, is_alive, wait_for},
            server::PROGRAM,
        },
    },
    base::{descendants, require_root},
};

/// Gives a new network namespace the only thing that pasta needs of a machine's network: an interface with a default route.
/// Nothing is behind it.
const NETWORK: &str = "set -e
    ip link set lo up
    ip tuntap add dev outside mode tap
    ip address add 10.99.0.2/24 dev outside
    ip link set outside up
    ip route add default via 10.99.0.1 dev outside
    exec \"$@\"";

/// `./dev up --demo` in a network namespace of its own.
struct Demo {
    child: Child,
    folder: TempDir,
}

impl Demo {
    /// Starts it with further options.
    fn start(options: &[&str]) -> Self {
        require_root();
        test_env::require_test_network();
        let folder = TempDir::with_prefix("demo").unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        symlink(PROGRAM, folder.path().join("bin/browser-shell")).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", "unshare", "--net", "--", "sh", "-c", NETWORK, "sh"]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("dev"));
        // The program is already built: a build needs the registry.
        command.args(["up", "--demo", "--program", PROGRAM]).args(options).env("DEV_UP_STATE", folder.path());
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut demo = Self { child: spawn_from_permanent_thread(command), folder };
        wait_for("./dev up --demo", || {
            let ended = demo.child.try_wait().unwrap();
            assert!(ended.is_none(), "./dev up ended with {ended:?}:\n{}", demo.log());
            demo.log().contains("Ctrl-C stops everything").then_some(())
        });
        demo
    }

    /// Returns the output of `./dev up`, and the server's log.
    fn log(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        read("log") + &read("serve/log/server.log")
    }

    fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Runs a line of a shell, in the network of a process and with `browser-shell` on the path.
    fn shell_in(&self, process: i32, line: &str) -> Output {
        let path = format!("{}:{}", self.folder.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{process}/ns/net")).args(["--", "bash", "-c", line]);
        command.env_clear().env("PATH", path).current_dir(self.folder.path()).stdin(Stdio::null());
        command.output().unwrap()
    }

    #[track_caller]
    fn shell(&self, line: &str) -> String {
        let run = self.shell_in(self.id(), line);
        assert!(run.status.success(), "{line}: {run:?}\n{}", self.log());
        String::from_utf8(run.stdout).unwrap()
    }

    /// Runs `./dev` with these arguments.
    fn dev(&self, arguments: &str) -> Output {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("dev");
        let state = self.folder.path().display();
        self.shell_in(self.id(), &format!("DEV_UP_STATE={state} {} {arguments}", program.display()))
    }

    /// Returns a process in the network of the server.
    fn inner_process(&self) -> i32 {
        let network = |id: i32| fs::read_link(format!("/proc/{id}/ns/net")).unwrap_or_default();
        let (outside, none) = (network(self.id()), PathBuf::new());
        let all = descendants(self.id());
        let inner = all.iter().find(|process| ![&outside, &none].contains(&&network(process.id)));
        inner.unwrap_or_else(|| panic!("no process has another network: {all:?}")).id
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let all = descendants(self.id());
        processes::signal(self.id(), Signal::TERM);
        let status = self.child.wait();
        if !thread::panicking() {
            assert_eq!(status.unwrap().code(), Some(143), "{}", self.log());
            wait_for("the end of the server and of the demo site", || (!all.iter().any(is_alive)).then_some(()));
        }
    }
}

/// Returns the README's calls at the server of `./dev up`.
fn readme_calls() -> Vec<String> {
    let calls: Vec<_> = blocks(&page("README.md"))
        .into_iter()
        .filter(|(info, _)| info == "sh")
        .flat_map(|(_, body)| body.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.starts_with("browser-shell call --server "))
        .collect();
    assert!(calls.len() >= 4 && calls[0].contains("http://demo.example.com/"), "{calls:?}");
    calls
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn readme_example_works_with_dev_up_demo() {
    let demo = Demo::start(&[]);
    let at = "browser-shell call --server http://127.0.0.1:8080/mcp";
    // The browser may still start.
    wait_for("the browser", || {
        let run = demo.shell_in(demo.id(), &format!("{at} --session first --timeout 60 -- open about:blank"));
        if !run.status.success() {
            // Shown if the test fails.
            drop(std::io::stderr().write_all(&run.stderr));
        }
        run.status.success().then_some(())
    });
    // Our own engine needs no other program.
    let commands: Vec<_> = descendants(demo.id()).into_iter().map(|process| process.command).collect();
    assert!(commands.iter().any(|command| command.contains("chromium")), "control: {commands:?}");
    let is_agent_browser =
        |command: &String| command.contains("agent-browser --session") || command.contains("daemon.js");
    assert!(!commands.iter().any(is_agent_browser), "{commands:?}");
    let outputs: Vec<_> = readme_calls().iter().map(|line| demo.shell(line)).collect();
    assert!(outputs[0].contains("Demo shop"), "{outputs:?}");
    assert!(outputs[1].contains("Order form"), "{outputs:?}");
    assert!(fs::read(demo.folder.path().join("page.png")).unwrap().starts_with(b"\x89PNG"));

    // The other pages.
    let call = |argv: &str| demo.shell(&format!("{at} -- {argv}"));
    call("open http://demo.example.com/form.html");
    call("fill '#name' 'Ada Lovelace'");
    call("check '#gift'");
    call("click '#send'");
    let order = call("snapshot");
    assert!(order.contains("Ada Lovelace") && order.contains("Order received"), "{order}");
    call("open http://demo.example.com/table.html");
    call("click '#sort'");
    let table = call("snapshot");
    assert!(table.find("Pencil") < table.find("Notebook") && table.contains("Lamp"), "{table}");
    call("open http://demo.example.com/tabs.html");
    call("click '#tab-address'");
    assert!(call("snapshot").contains("1 Example Street"));
    call("open http://demo.example.com/dialog.html");
    call("click '#empty'");
    call("click '#question [value=yes]'");
    assert!(call("snapshot").contains("The basket is empty."));

    // The demo relaxes no rule.
    for url in ["http://10.0.0.1/", "http://127.0.0.1:8091/", "http://localhost:8080/mcp"] {
        let run = demo.shell_in(demo.id(), &format!("{at} -- open {url}"));
        assert_eq!(run.status.code(), Some(77), "{url}: {run:?}");
    }
    call("close");
    demo.shell(&format!("{at} --session first -- close"));
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn dev_commands_find_the_running_server() {
    for (options, log) in [(&["--jwt"][..], "server"), (&["--aio", "--jwt"], "container")] {
        let demo = Demo::start(options);
        let status = demo.dev("status");
        let text = String::from_utf8_lossy(&status.stdout);
        assert!(status.status.success() && text.contains("/mcp  ") && text.contains("/vnc/  "), "{status:?}");
        assert!(demo.dev(&format!("logs {log}")).status.success());
        let unknown = demo.dev("logs no-such-log");
        assert!(String::from_utf8_lossy(&unknown.stderr).contains(log), "{unknown:?}");
        let attack = demo.dev("attack --random 100 --json");
        assert!(attack.status.success(), "{attack:?}");
        // A second one in the same checkout is refused.
        let second = demo.dev(&format!("up --port 8090 {}", options.join(" ")));
        let error = String::from_utf8_lossy(&second.stderr);
        assert!(!second.status.success() && error.contains("already running on port 8080"), "{second:?}");
    }
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn demo_address_leads_to_the_site_only() {
    // The public port, the health and the guard; with `--aio` the wall, the MCP server, the base's server, the guard and the
    // debugging port.
    for (options, ports) in [(&[][..], &[8080, 8081, 8119][..]), (&["--aio"], &[8080, 8079, 8091, 8119, 9222, 9223])] {
        check_demo_address(&Demo::start(options), ports);
    }
}

/// Checks that the address of the demo site has no way to ports of the network that the site is in.
fn check_demo_address(demo: &Demo, ports: &[u16]) {
    let connects = |host: &str, port: u16| {
        let line = format!("exec 3<>/dev/tcp/{host}/{port}");
        demo.shell_in(demo.inner_process(), &line).status.success()
    };
    let address = demo.shell_in(demo.inner_process(), "ip rule list priority 90");
    let address = String::from_utf8(address.stdout).unwrap();
    let address = address.split(" to ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a rule").to_owned();
    assert!(connects(&address, 80), "control");
    for port in ports {
        // Control. Not all of the ports are needed by what was waited for.
        wait_for("a connection", || connects("127.0.0.1", *port).then_some(()));
        assert!(!connects(&address, *port), "{port}");
    }
}
