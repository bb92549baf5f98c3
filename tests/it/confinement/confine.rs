//! The hidden subcommand `confine`, run with programs that make system calls.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use browser_shell::testing::{ConfineConfig, KernelFeatures, Plan};
use browser_shell_core::policy::sandbox::ResourceLimits;
use serde_json::json;

use crate::harness::server::{PROGRAM, free_port};

/// Returns a plan for Python, which can make system calls by number. It may read and execute everything that it
/// needs.
pub(super) fn python_plan(write: &Path) -> Plan {
    Plan {
        read: ["/lib", "/lib64", "/usr", "/etc"].map(PathBuf::from).into(),
        execute: ["/usr/bin", "/bin", "/lib", "/lib64", "/usr/lib", "/usr/local/bin"].map(PathBuf::from).into(),
        write: vec![write.to_owned()],
        devices: ["/dev/null", "/dev/urandom"].map(PathBuf::from).into(),
        ..Plan::default()
    }
}

fn confine(orders: &ConfineConfig, program: &[&str]) -> Output {
    Command::new(PROGRAM).args(orders.arguments()).args(program).output().unwrap()
}

pub(super) fn confined_python(orders: &ConfineConfig, script: &str) -> String {
    let ran = confine(orders, &["/usr/bin/python3", "-I", "-c", script]);
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{ran:?}");
    text
}

fn unconfined_python(script: &str) -> String {
    let ran = Command::new("/usr/bin/python3").args(["-I", "-c", script]).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

const SYSCALLS: &str = r"
import ctypes, os, socket, signal
libc = ctypes.CDLL(None, use_errno=True)
victim = int(VICTIM)
def call(*arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*arguments)
    return ('ok' if result >= 0 else os.strerror(ctypes.get_errno()))
def sock(*arguments):
    try:
        socket.socket(*arguments).close(); return 'ok'
    except OSError as error:
        return error.strerror
def kill():
    try:
        os.kill(victim, 0); return 'ok'
    except OSError as error:
        return error.strerror
x = os.uname().machine == 'x86_64'
buffer = ctypes.create_string_buffer(256)
rows = {
    'ptrace': call(101 if x else 117, 16, victim, 0, 0),
    'io_uring': call(425, 4, buffer),
    'namespace': call(272 if x else 97, 0x10000000),
    'udp': sock(socket.AF_INET, socket.SOCK_DGRAM),
    'netlink': sock(socket.AF_NETLINK, socket.SOCK_RAW),
    'raw': sock(socket.AF_INET, socket.SOCK_RAW, 1),
    'packet': sock(socket.AF_PACKET, socket.SOCK_RAW),
    'mptcp': sock(socket.AF_INET, socket.SOCK_STREAM, 262),
    'inotify': call(294 if x else 26, 0),
    'bpf': call(321 if x else 280, 0, buffer, 8) ,
    'signal': kill(),
    'tcp': sock(socket.AF_INET, socket.SOCK_STREAM),
    'unix': sock(socket.AF_UNIX, socket.SOCK_STREAM),
}
for name, result in rows.items(): print(name, result, sep=': ')
";

// Requirement 5.2.
#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn no_syscall_bypasses_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let mut victim = Command::new("/bin/sleep").arg("600").spawn().unwrap();
    let script = SYSCALLS.replace("VICTIM", &victim.id().to_string());
    let kernel = KernelFeatures::detect();
    let inside = confined_python(&ConfineConfig::new(python_plan(folder.path()), kernel), &script);
    let refused =
        |name: &str| inside.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).map(str::to_owned);
    for name in ["ptrace", "namespace", "udp", "netlink", "raw", "packet", "mptcp", "inotify", "bpf", "signal"] {
        assert_eq!(refused(name).as_deref(), Some("Operation not permitted"), "{name}: {inside}");
    }
    assert_eq!(refused("io_uring").as_deref(), Some("Function not implemented"), "{inside}");
    for name in ["tcp", "unix"] {
        assert_eq!(refused(name).as_deref(), Some("ok"), "control: {inside}");
    }
    // Without a sandbox, everything that needs no privileges works. The harmless calls come first, and the victim is
    // traced last.
    let outside = unconfined_python(&script);
    for name in ["udp", "netlink", "inotify", "signal", "tcp", "unix", "ptrace"] {
        assert!(outside.contains(&format!("{name}: ok")), "control, {name}: {outside}");
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
}

// Requirement 5.2.
#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn confined_process_has_no_capabilities_and_can_be_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = python_plan(folder.path());
    // A session may not read this. The test does.
    plan.read.push("/proc".into());
    let script = "print(open('/proc/self/status').read())";
    let inside = confined_python(&ConfineConfig::new(plan, KernelFeatures::detect()), script);
    for line in ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(inside.contains(line), "{line}: {inside}");
    }
    assert!(unconfined_python(script).contains("Seccomp:\t0"), "control");
}

// Requirement 5.2.
#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn large_files_and_fork_bombs_hit_limits() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let limits = ResourceLimits { max_processes: 64, max_file_bytes: 1024 * 1024, max_open_files: 256 };
    let mut plan = python_plan(folder.path());
    plan.limits = Some(limits);
    let orders = ConfineConfig::new(plan, KernelFeatures::detect());

    let file = folder.path().join("large");
    let write = format!(
        "import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); f = os.open('{}', os.O_CREAT | os.O_WRONLY); \nwhile True:\n  try: os.write(f, b'x' * 65536)\n  except OSError as e: print(e.strerror); break\n  if os.fstat(f).st_size > 4 << 20: print('no limit'); break",
        file.display()
    );
    assert_eq!(confined_python(&orders, &write).trim(), "File too large");
    assert_eq!(fs::metadata(&file).unwrap().len(), limits.max_file_bytes);
    assert_eq!(unconfined_python(&write).trim(), "no limit", "control");

    let open = "import os\nn = 0\ntry:\n  while n < 1000: os.open('/dev/null', os.O_RDONLY); n += 1\n  print('no limit')\nexcept OSError as e: print(e.strerror)";
    assert_eq!(confined_python(&orders, open).trim(), "Too many open files");
    assert_eq!(unconfined_python(open).trim(), "no limit", "control");

    // Root has no process limit. If `setpriv` works, the program runs as another user; otherwise this user must not
    // be root.
    let bomb = "import os, signal, time\nn = 0\ntry:\n  while n < 100:\n    if os.fork() == 0: time.sleep(60); os._exit(0)\n    n += 1\n  print('no limit')\nexcept OSError as e: print(e.strerror)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN); os.killpg(0, signal.SIGTERM)";
    let user: &[&str] = &["--reuid", "54321", "--regid", "54321", "--clear-groups"];
    let other = Command::new("setpriv").args(user).arg("true").status().unwrap().success();
    let run = |orders: Option<&ConfineConfig>| {
        let mut command = Command::new(if other { "setpriv" } else { "env" });
        if other {
            command.args(user);
        }
        if let Some(orders) = orders {
            command.arg(PROGRAM).args(orders.arguments());
        }
        // In a separate process group, which ends itself.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let ran = command.args(["/usr/bin/python3", "-I", "-c", bomb]).output().unwrap();
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    };
    assert_eq!(run(Some(&orders)), "Resource temporarily unavailable");
    assert_eq!(run(None), "no limit", "control");
}

// Requirement 5.2.
#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn abstract_sockets_of_other_processes_are_unreachable() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("browser-shell-test-{}-{}", std::process::id(), free_port());
    let address =
        <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let script = format!(
        "import socket\ntry:\n  socket.socket(socket.AF_UNIX).connect('\\0{name}'); print('ok')\nexcept OSError as e: print(e.strerror)"
    );
    assert_eq!(
        confined_python(&ConfineConfig::new(python_plan(folder.path()), KernelFeatures::detect()), &script).trim(),
        "Operation not permitted"
    );
    assert_eq!(unconfined_python(&script).trim(), "ok", "control");
}

// Requirement 5.2.
#[test]
fn unsupported_sandbox_rules_start_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let touch = ["/bin/sh", "-c", r#": >"$0""#, mark.to_str().unwrap()];
    let mut refused = vec![json!({"plan": {}, "landlock": 0, "seccomp": false}), json!("nonsense")];
    // With version 9 of Landlock, the program would run.
    refused.extend(
        (KernelFeatures::detect().landlock < 9)
            .then(|| json!({"plan": Plan::default(), "landlock": 9, "seccomp": false})),
    );
    for orders in refused {
        let ran = Command::new(PROGRAM).args(["confine", &orders.to_string()]).args(touch).output().unwrap();
        assert!(!mark.exists());
        assert_eq!(ran.status.code(), Some(71), "{ran:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).starts_with("browser-shell confine: "), "{ran:?}");
    }
    let none = json!({"plan": Plan::default(), "landlock": 0, "seccomp": false}).to_string();
    assert!(Command::new(PROGRAM).args(["confine", &none]).args(touch).status().unwrap().success());
    assert!(mark.exists(), "control: without rules the program must run");
}
