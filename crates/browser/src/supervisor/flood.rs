//! Renderers of a Chromium that does not answer.
//!
//! A page that floods Chromium with navigations or frames keeps it from answering anybody. Its renderer takes processor time meanwhile,
//! and Chromium answers again some time after that one has ended. Only the sessions of its pages lose something, and not all.
//!
//! Invariants: only a renderer of this Chromium is ended, and only while Chromium does not answer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use browser_shell_system::os::processes::{GroupMember, end_member, members_of};

/// Number of failed checks in a row after which the busiest renderer is ended, and again after as many more.
pub(super) const UNANSWERED: u32 = 2;

/// Number of failed checks in a row after which less is enough, because the alternative is a restart.
const LAST_UNANSWERED: u32 = 6;

/// Number of further failed checks after which Chromium counts as hung all the same, once a renderer was ended: two minutes, since it takes all
/// that the renderer had sent first.
pub(super) const FLOODED_UNANSWERED: u32 = 40;

/// Returns the least share of one processor that the busiest renderer must have taken since an answer is missing. On a machine that is too busy for
/// Chromium to answer, each process gets less than the first of them.
pub(super) const fn min_share(unanswered: u32) -> f64 {
    if unanswered < LAST_UNANSWERED { 0.2 } else { 0.03 }
}

/// Argument of Chromium's renderers.
pub(super) const RENDERER: &str = "--type=renderer";

/// Processor time of the renderers of a Chromium that does not answer.
pub(super) struct Renderers {
    group: Pid,
    since: Instant,
    /// Processor time of each when the first answer was missing.
    times: HashMap<Pid, Duration>,
}

impl Renderers {
    /// Begins to look at the renderers of a Chromium of which an answer is missing.
    pub(super) fn of(group: Pid) -> Self {
        let times = running(group).map(|renderer| (renderer.id, renderer.time)).collect();
        Self { group, since: Instant::now(), times }
    }

    /// Ends the renderer that took most time since then, if it took at least this share of one processor. Returns its share.
    pub(super) fn end_busiest(&self, min_share: f64) -> Option<f64> {
        let since = |renderer: &GroupMember| {
            renderer.time.saturating_sub(self.times.get(&renderer.id).copied().unwrap_or_default())
        };
        let busiest = running(self.group).max_by_key(since)?;
        let share = since(&busiest).as_secs_f64() / self.since.elapsed().as_secs_f64().max(f64::EPSILON);
        (share >= min_share && end_member(self.group, &busiest)).then_some(share)
    }
}

fn running(group: Pid) -> impl Iterator<Item = GroupMember> {
    members_of(group).filter(|member| member.has_argument(RENDERER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, Stdio};

    /// Starts a process in a group: a new one without it.
    fn start(script: &str, argument: &str, group: Option<&Child>) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, argument]).stdin(Stdio::piped());
        command.process_group(group.map_or(0, |leader| leader.id().cast_signed()));
        command.spawn().expect("a shell")
    }

    #[test]
    fn busiest_renderer_of_the_group_is_ended() {
        let (busy, idle) = ("while :; do :; done", "read -r line");
        let mut leader = start(busy, "--type=browser", None);
        let mut waiting = start(idle, RENDERER, Some(&leader));
        let mut other = start(busy, RENDERER, None);
        let group = Pid::from_child(&leader);
        let renderers = Renderers::of(group);
        let mut flooding = start(busy, RENDERER, Some(&leader));
        let is_busy =
            |member: GroupMember| member.id == Pid::from_child(&flooding) && member.time > Duration::from_millis(100);
        while !members_of(group).any(is_busy) {
            std::thread::yield_now();
        }
        assert_eq!(renderers.end_busiest(f64::MAX), None, "control: a share that none takes");
        assert!(renderers.end_busiest(f64::MIN_POSITIVE).is_some());
        assert_eq!(flooding.wait().expect("its end").signal(), Some(9));
        for child in [&mut leader, &mut waiting, &mut other] {
            assert!(child.try_wait().expect("its state").is_none(), "control: it runs");
            child.kill().expect("it ends");
            child.wait().expect("its end");
        }
    }
}
