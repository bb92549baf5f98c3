//! Processes of a Chromium that answers, but that does not serve everybody any more.
//!
//! Chromium answers without a zygote too, but starts no renderer any more: each session that needs one waits for good. The kernel ends a
//! zygote when memory or tasks run out, and Chromium starts none anew. Of workers, a page may start as many as the kernel allows, each with a
//! thread and a heap, and every page pays for them.
//!
//! Invariants: only a renderer of this Chromium is ended.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::flood::RENDERER;
use browser_shell_system::os::processes::{GroupMember, end_member, members_of};

/// Time between two inspections: each reads the state of all processes.
const INTERVAL: Duration = Duration::from_secs(3);

/// Number of threads above which a renderer is ended, beside one for each processor: Chromium's own pool has as many. A page without
/// workers has about 15.
const MAX_THREADS: usize = 200;

/// Argument of the processes from which Chromium starts renderers.
const ZYGOTE: &str = "--type=zygote";

/// Processes of a Chromium.
pub(super) struct Processes {
    group: Pid,
    /// Largest number of zygotes that was seen. They are there before the first answer, but on a busy machine their programs may not be.
    zygotes: usize,
    max_threads: usize,
    last: Instant,
}

/// Result of an inspection.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Inspection {
    /// Number of threads of each renderer that was ended for them.
    pub ended: Vec<usize>,
    /// True if a zygote is gone.
    pub has_lost_zygote: bool,
}

impl Processes {
    /// Begins to inspect the processes of a Chromium, which leads this group and has answered.
    pub(super) fn of(group: Pid) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut processes = Self { group, zygotes: 0, max_threads: MAX_THREADS + processors, last: Instant::now() };
        processes.inspect();
        processes
    }

    /// Inspects the processes, if the last inspection was some time ago.
    pub(super) fn inspect_if_due(&mut self) -> Inspection {
        if self.last.elapsed() < INTERVAL {
            return Inspection::default();
        }
        self.last = Instant::now();
        self.inspect()
    }

    /// Ends renderers that have too many threads, and counts the zygotes.
    fn inspect(&mut self) -> Inspection {
        let members: Vec<_> = members_of(self.group).collect();
        let has_too_many = |member: &&GroupMember| member.threads > self.max_threads && member.has_argument(RENDERER);
        let crowded = members.iter().filter(has_too_many).filter(|member| end_member(self.group, member));
        let ended = crowded.map(|member| member.threads).collect();
        // A renderer that begins is a copy of its zygote, with the same arguments; so only those are counted that Chromium itself started.
        let is_zygote = |member: &&GroupMember| member.parent == Some(self.group) && member.has_argument(ZYGOTE);
        let zygotes = members.iter().filter(is_zygote).count();
        let has_lost_zygote = zygotes < self.zygotes;
        self.zygotes = self.zygotes.max(zygotes);
        Inspection { ended, has_lost_zygote }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, Stdio};

    /// Starts a process in a group: a new one without it. It ends with its standard input, or when its script does.
    fn start(script: &str, argument: &str, group: Option<Pid>) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, argument]).stdin(Stdio::piped());
        // In the environment, so that no process but those that the script starts has the argument.
        command.env("ZYGOTE", ZYGOTE).process_group(group.map_or(0, |group| group.as_raw_nonzero().get()));
        command.spawn().expect("a shell")
    }

    /// Ends a process.
    fn end(mut child: Child) {
        child.kill().expect("it ends");
        child.wait().expect("its end");
    }

    /// Waits until a group has this number of processes with an argument, and returns them.
    fn wait_for(group: Pid, argument: &str, count: usize) -> Vec<GroupMember> {
        let begun = Instant::now();
        loop {
            let members: Vec<_> = members_of(group).filter(|member| member.has_argument(argument)).collect();
            if members.len() == count {
                return members;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{members:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn lost_zygote_is_seen_but_not_the_end_of_its_copy() {
        let zygote = "exec 3<&0; /bin/sh -c 'read -r line <&3; :' $ZYGOTE &";
        let with_copy = "/bin/sh -c '/bin/sh -c \"read -r line <&3; :\" $ZYGOTE & read -r line <&3; :' $ZYGOTE &";
        let leader = start(&format!("{zygote} {with_copy} read -r line; :"), "--type=browser", None);
        let group = Pid::from_child(&leader);
        let all = wait_for(group, ZYGOTE, 3);
        let (zygotes, copies): (Vec<_>, Vec<_>) = all.iter().partition(|member| member.parent == Some(group));
        assert_eq!((zygotes.len(), copies.len()), (2, 1));
        let mut processes = Processes::of(group);
        assert_eq!(processes.inspect(), Inspection::default(), "control");
        assert!(end_member(group, copies[0]));
        wait_for(group, ZYGOTE, 2);
        assert_eq!(processes.inspect(), Inspection::default(), "a renderer that ended as it began");
        assert!(end_member(group, zygotes[0]));
        wait_for(group, ZYGOTE, 1);
        assert_eq!(processes.inspect(), Inspection { ended: Vec::new(), has_lost_zygote: true });
        assert_eq!(processes.inspect_if_due(), Inspection::default(), "control: it is not due");
        end(leader);
    }

    #[test]
    fn only_renderers_with_too_many_threads_are_ended() {
        let mut leader = start("read -r line; :", "--type=browser", None);
        let group = Pid::from_child(&leader);
        let mut renderer = start("read -r line; :", RENDERER, Some(group));
        wait_for(group, RENDERER, 1);
        let mut processes = Processes::of(group);
        assert_eq!(processes.inspect(), Inspection::default(), "control: it has one thread");
        processes.max_threads = 0;
        assert_eq!(processes.inspect(), Inspection { ended: vec![1], has_lost_zygote: false });
        assert_eq!(renderer.wait().expect("its end").signal(), Some(9));
        assert!(leader.try_wait().expect("its state").is_none(), "control: no renderer, and it runs");
        end(leader);
    }
}
