//! Attacks of one session on another: its sockets, its processes, and objects that both could open.

use std::{
    io::Read,
    os::unix::{net::UnixListener, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use browser_shell::testing::{ConfineConfig, KernelFeatures};
use serde_json::json;

use super::confine::{confined_python, python_plan};
use super::{attempt, env_with, policy_of};
use crate::harness::server::PROGRAM;

/// Searches every list of sockets for one with this name, and connects to it.
const FIND_AND_CONNECT: &str = r"(async () => {
  const lists = ['/proc/net', '/proc/self/net', '/proc/thread-self/net', `/proc/${process.pid}/net`, `/proc/${process.ppid}/net`, '/proc/1/net'];
  let text = '';
  for (const list of lists) { try { text += fs.readFileSync(list + '/unix'); } catch {} }
  const path = text.split(/\s+/).find((word) => word.endsWith('/NAME'));
  if (!path) throw 'not found';
  await connect(path);
})()";

fn assert_sockets_are_not_found(backend: &str) {
    let name = "victim-of-this-test.sock";
    for (sandbox, inside) in [(policy_of(backend).0, true), (json!({"enabled": false}), false)] {
        let server = env_with(sandbox).serve();
        let folder = server
            .call(
                "victim",
                &["fill", "@e1", "#fake-node-console.log(JSON.stringify(process.env.AGENT_BROWSER_SOCKET_DIR))"],
            )
            .ok()
            .data();
        let path = Path::new(folder.as_str().unwrap()).join(name);
        let _daemon = UnixListener::bind(&path).unwrap();
        let tries = [("connect", FIND_AND_CONNECT.replace('\n', " ").replace("NAME", name))];
        let got = attempt(&server, "attacker", &tries);
        assert_eq!(got["connect"], if inside { "not found" } else { "ok" }, "{backend}");
        for session in ["victim", "attacker"] {
            server.call(session, &["close"]).ok();
        }
    }
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node and the kernel's parts: run ./dev test"]
fn landlock_session_finds_no_socket_of_another() {
    assert_sockets_are_not_found("landlock");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node and bubblewrap: run ./dev test"]
fn bubblewrap_session_finds_no_socket_of_another() {
    assert_sockets_are_not_found("bubblewrap");
}

/// Prints the result of each call, `ok` or the name of an error. Objects are removed again.
const CALLS: &str = r"
import ctypes, errno, os, resource, struct, sys
victim, readable = int(sys.argv[1]), sys.argv[2]
libc = ctypes.CDLL(None, use_errno=True)
x = os.uname().machine == 'x86_64'
def call(function, *arguments):
    ctypes.set_errno(0)
    result = function(*arguments)
    if result < 0: raise OSError(ctypes.get_errno(), '')
    return result
def shared_memory(): call(libc.shmctl, call(libc.shmget, 0, 4096, 0o1600), 0, None)
def semaphore(): call(libc.semctl, call(libc.semget, 0, 1, 0o1600), 0, 0, 0)
def messages(): call(libc.msgctl, call(libc.msgget, 0, 0o1600), 0, None)
def queue():
    name = b'/browser-shell-test-%d' % os.getpid()
    os.close(call(libc.mq_open, name, os.O_CREAT | os.O_RDWR, 0o600, None)); call(libc.mq_unlink, name)
def opened(action):
    fd = os.open(readable, os.O_RDONLY)
    try: action(fd)
    finally: os.close(fd)
# Size, policy, flags and niceness: the same as after `setpriority`, because a lower one needs a privilege.
attributes = ctypes.create_string_buffer(struct.pack('=IIQiIQQQ', 48, 0, 0, 5, 0, 0, 0, 0))
no_file = resource.RLIMIT_NOFILE
calls = {}
for who, process in (('own', 0), ('other', victim)):
    calls.update({
        who + ' limits': lambda process=process: resource.prlimit(process, no_file, resource.prlimit(0, no_file) if process == 0 else (64, 64)),
        who + ' limits read': lambda process=process: resource.prlimit(process, no_file),
        who + ' cpu limit': lambda process=process: resource.prlimit(process, resource.RLIMIT_CPU, (1000, 1000)),
        who + ' priority': lambda process=process: os.setpriority(os.PRIO_PROCESS, process, 5),
        who + ' disk priority': lambda process=process: call(libc.syscall, 251 if x else 30, 1, process, 2 << 13 | 4),
        who + ' cores': lambda process=process: os.sched_setaffinity(process, os.sched_getaffinity(0)),
        who + ' scheduler': lambda process=process: os.sched_setscheduler(process, os.SCHED_BATCH, os.sched_param(0)),
        who + ' scheduler parameters': lambda process=process: os.sched_setparam(process, os.sched_param(0)),
        who + ' scheduler attributes': lambda process=process: call(libc.syscall, 314 if x else 274, process, attributes, 0),
    })
calls.update({
    'group priority': lambda: os.setpriority(os.PRIO_PGRP, victim, 6),
    'group disk priority': lambda: call(libc.syscall, 251 if x else 30, 2, victim, 2 << 13 | 5),
    'shared memory': shared_memory,
    'semaphore': semaphore,
    'messages': messages,
    'queue': queue,
    'times': lambda: os.utime(readable, (1, 1)),
    'times of a link': lambda: os.utime(readable, (2, 2), follow_symlinks=False),
    'times by descriptor': lambda: opened(lambda fd: os.utime(fd, (3, 3))),
    'mode': lambda: os.chmod(readable, 0o640),
    'mode by descriptor': lambda: opened(lambda fd: os.fchmod(fd, 0o644)),
    'owner by descriptor': lambda: opened(lambda fd: os.fchown(fd, os.getuid(), os.getgid())),
})
for name, action in calls.items():
    try: action(); result = 'ok'
    except OSError as error: result = errno.errorcode[error.errno]
    print(name, result, sep=': ')
print('end: ok')
";

/// A process of another sandbox of the same user, in a group of its own. It has no capabilities, so the kernel lets others
/// without capabilities change it.
struct Victim(Child);

impl Victim {
    fn start(own: &Path) -> Self {
        let confined = ConfineConfig::new(python_plan(own), KernelFeatures::detect());
        let mut command = Command::new(PROGRAM);
        command.args(confined.arguments()).args(["/bin/sh", "-c", "echo ready; exec sleep 600"]);
        let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0; 6];
        child.stdout.take().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
        Self(child)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

// Requirement 5.2.
#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn session_changes_no_other_process_object_or_readable_file() {
    let folder = tempfile::tempdir().unwrap();
    let [readable, own] = ["readable", "own"].map(|name| folder.path().join(name));
    std::fs::create_dir(&own).unwrap();
    std::fs::write(&readable, "x").unwrap();
    let before = std::fs::metadata(&readable).unwrap();
    let victim = Victim::start(&own);
    let arguments = format!("import sys; sys.argv = ['', '{}', '{}']\n", victim.0.id(), readable.display());
    let script = arguments + CALLS;
    let mut plan = python_plan(&own);
    plan.read.push(PathBuf::from(&readable));
    let inside = confined_python(&ConfineConfig::new(plan.clone(), KernelFeatures::detect()), &script);
    for line in inside.lines() {
        let expected = if line.starts_with("own ") || line.starts_with("end") { "ok" } else { "EPERM" };
        assert!(line.ends_with(&format!(": {expected}")), "{line}: {inside}");
    }
    let after = std::fs::metadata(&readable).unwrap();
    assert_eq!((after.modified().unwrap(), after.permissions()), (before.modified().unwrap(), before.permissions()));
    // The same without capabilities only.
    let without = confined_python(&ConfineConfig { plan, landlock: 0, seccomp: false }, &script);
    assert_eq!(inside.lines().count(), without.lines().count());
    for line in without.lines() {
        assert!(line.ends_with(": ok"), "control, {line}: {without}");
    }
    assert_ne!(std::fs::metadata(&readable).unwrap().modified().unwrap(), before.modified().unwrap(), "control");
}
