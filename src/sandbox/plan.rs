//! The plan of a confinement: what one session's agent-browser may reach.
//!
//! Decides from the policy, the session's places and the program's parts, without I/O: which files may be read, executed and
//! written, which ports reached, how much used. Backends turn a plan into rules; what they cannot enforce they must say, and
//! never widen. Must never name a folder that holds more than one session's files, except in the mode `shared`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::parts::Parts;
use super::policy::{BackendName, Limits, Mode, SandboxPolicy};
use crate::places::SessionPlaces;

/// What one session may reach. Everything that is not named here is out of reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Files and folders to read.
    pub read: Vec<PathBuf>,
    /// Programs to run, which includes reading them.
    pub execute: Vec<PathBuf>,
    /// Folders to read and write, for plain files and folders only.
    pub write: Vec<PathBuf>,
    /// Folders in which sockets may be made too.
    pub sockets: Vec<PathBuf>,
    /// Device files to read and write.
    pub devices: Vec<PathBuf>,
    /// What must not be read although a folder above it may be.
    pub hidden: Vec<PathBuf>,
    /// What must not be written although a folder above it may be.
    pub fixed: Vec<PathBuf>,
    /// TCP ports to connect to.
    pub connect: Vec<u16>,
    /// Whether it may listen on TCP ports.
    pub bind: bool,
    /// How much it may use; `None` leaves things as they are.
    pub limits: Option<Limits>,
}

/// What of `/proc` says nothing about anyone.
const PROC: &[&str] = &["/proc/meminfo", "/proc/cpuinfo", "/proc/version", "/proc/sys/vm/overcommit_memory"];

/// What programs open whatever they do.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// What a session may reach.
#[must_use]
pub fn plan(
    policy: &SandboxPolicy,
    backend: BackendName,
    places: &SessionPlaces,
    parts: &Parts,
    action_policy: &Path,
    cdp_port: u16,
) -> Plan {
    let shared = policy.mode == Mode::Shared;
    let own = |path: &Path| if shared { path.parent().unwrap_or(path).to_owned() } else { path.to_owned() };
    let mut read: Vec<PathBuf> = parts.read.clone();
    read.push(action_policy.to_owned());
    read.extend(PROC.iter().map(PathBuf::from));
    let mut write = vec![own(&places.files)];
    if shared {
        // Home, temporary and working folders of all sessions; their locks lie beside.
        write.push(own(&places.private));
    } else {
        read.push(places.cwd());
        write.extend([places.home(), places.tmp()]);
    }
    write.extend(policy.filesystem.allow_write.iter().cloned());
    let mut plan = Plan {
        read,
        execute: parts.execute.clone(),
        write,
        sockets: vec![own(&places.sockets)],
        devices: DEVICES.iter().map(PathBuf::from).collect(),
        hidden: Vec::new(),
        fixed: Vec::new(),
        connect: vec![cdp_port],
        bind: policy.network.allow_local_binding,
        limits: Some(match backend {
            BackendName::Bubblewrap => policy.backends.bubblewrap.limits,
            _ => policy.backends.landlock,
        }),
    };
    for denied in &policy.filesystem.deny_read {
        plan.deny_read(denied);
    }
    for denied in &policy.filesystem.deny_write {
        plan.deny_write(denied);
    }
    plan
}

impl Plan {
    /// The rules for programs that already have a view of files of their own: what is hidden or fixed is so by the view, and
    /// its own `/proc` holds its own processes only, so that a daemon may look at itself too.
    pub(super) fn behind_a_view(&self) -> Self {
        let mut rest = Self { hidden: Vec::new(), fixed: Vec::new(), ..self.clone() };
        rest.read.push("/proc".into());
        rest
    }

    /// The browser's port.
    pub(super) fn port(&self) -> u16 {
        self.connect.first().copied().unwrap_or_default()
    }

    /// Takes a path out of everything that can be read; what may be written can be read too.
    fn deny_read(&mut self, denied: &Path) {
        for list in [&mut self.read, &mut self.execute, &mut self.write, &mut self.sockets, &mut self.devices] {
            list.retain(|path| !path.starts_with(denied));
        }
        let above = [&self.read, &self.execute, &self.write, &self.sockets].into_iter().flatten();
        if above.into_iter().any(|path| denied.starts_with(path)) {
            self.hidden.push(denied.to_owned());
        }
    }

    /// Takes a path out of what can be written; it stays readable where it was.
    fn deny_write(&mut self, denied: &Path) {
        for list in [&mut self.write, &mut self.sockets] {
            let (gone, kept) = list.drain(..).partition(|path| path.starts_with(denied));
            *list = kept;
            self.read.extend::<Vec<PathBuf>>(gone);
        }
        if [&self.write, &self.sockets].into_iter().flatten().any(|path| denied.starts_with(path)) {
            self.fixed.push(denied.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> SessionPlaces {
        SessionPlaces {
            key: "a".to_owned(),
            sockets: "/run/b/s/0123".into(),
            private: "/run/b/k/a".into(),
            files: "/workspace/a".into(),
        }
    }

    fn parts() -> Parts {
        Parts { read: vec!["/usr/lib".into(), "/opt/ab/dist".into()], execute: vec!["/opt/ab/bin/ab".into()] }
    }

    fn plan_of(text: &str) -> Plan {
        let policy = crate::policy::file::parse(text).expect("valid").sandbox;
        plan(&policy, BackendName::Landlock, &places(), &parts(), Path::new("/run/b/action-policy.json"), 9222)
    }

    #[test]
    fn spec_5_2_a_session_reaches_its_own_folders_the_programs_files_and_one_port() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&plan_of("{}")).expect("JSON"));
    }

    #[test]
    fn spec_5_2_no_plan_of_one_session_names_anything_of_another_or_above_its_own_folders() {
        let plan = plan_of("{}");
        let all = [&plan.read, &plan.execute, &plan.write, &plan.sockets, &plan.devices];
        for forbidden in ["/run/b/s/4567", "/run/b/k/b", "/workspace/b", "/etc/shadow", "/etc/agent-browser", "/proc/1"]
        {
            for path in all.into_iter().flatten() {
                assert!(!Path::new(forbidden).starts_with(path), "{path:?} gives {forbidden}");
            }
        }
        let shared = plan_of(r#"{"sandbox":{"mode":"shared"}}"#);
        assert!(shared.write.iter().any(|path| Path::new("/workspace/b").starts_with(path)), "control: shared ones do");
    }

    #[test]
    fn spec_5_2_denials_win() {
        let plan = plan_of(
            r#"{"sandbox":{"filesystem":{"allowWrite":["/data","/data2"],"denyRead":["/usr/lib/secret","/data2","/opt"],
            "denyWrite":["/data/old","/workspace"]}}}"#,
        );
        assert_eq!(plan.hidden, [PathBuf::from("/usr/lib/secret")]);
        assert_eq!(plan.fixed, [PathBuf::from("/data/old")]);
        assert!(plan.write.contains(&"/data".into()) && !plan.write.contains(&"/data2".into()));
        assert!(!plan.read.contains(&"/opt/ab/dist".into()) && plan.execute.is_empty());
        assert!(!plan.write.contains(&places().files) && plan.read.contains(&places().files));
    }

    #[test]
    fn a_plan_comes_out_of_its_text_as_it_went_in() {
        let plan = plan_of(r#"{"sandbox":{"network":{"allowLocalBinding":true}}}"#);
        let text = serde_json::to_string(&plan).expect("JSON");
        assert_eq!(serde_json::from_str::<Plan>(&text).expect("read"), plan);
        assert!(plan.bind);
    }
}
