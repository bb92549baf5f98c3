//! Who a runtime, a sandbox and a cargo are: the orchestrator's names.
//!
//! Decides their form, and which session each of them is. A name must never become a path or a flag: it is letters, digits,
//! `_` and `-`, and what a session is called outside follows from `session_id.rs`.

use std::path::PathBuf;

use super::workspace::Workspace;
use crate::decision::{Code, Decision};
use crate::pipeline::Files;
use crate::session_id::SessionId;

/// The form of every name.
pub const PATTERN: &str = "^[A-Za-z0-9_-]{1,128}$";

/// The session of a runtime that was told no name.
pub const DEFAULT_SESSION: &str = "default";

fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The name of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SandboxId(String);

impl SandboxId {
    /// Reads a name.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        is_name(text).then(|| Self(text.to_owned()))
    }

    /// The name as it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        SessionId::of_sandbox(self)
    }
}

/// The name of a cargo: what an orchestrator calls a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CargoId(String);

impl CargoId {
    /// Reads a name.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        is_name(text).then(|| Self(text.to_owned()))
    }

    /// The name of its folder.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("bay-cargo-{}", self.0)
    }
}

/// Whether a runtime is one sandbox's or many's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// One sandbox: the runtime starts Chromium, and has one session and one workspace
    Single,
    /// Many sandboxes: a Chromium that is there is used, and requests say whose they are
    Shared,
}

/// What a runtime is, for its whole life.
#[derive(Clone, Debug)]
pub struct Identity {
    /// One or many.
    pub mode: Mode,
    /// The runtime's own session.
    pub sandbox: SandboxId,
    /// The folder of the one workspace.
    pub workspace: PathBuf,
    /// Where agents see their workspace.
    pub mount: String,
    /// The folder of the many workspaces.
    pub cargos: PathBuf,
}

impl Identity {
    /// The session of a request.
    #[must_use]
    pub fn sandbox_of(&self, named: Option<&SandboxId>) -> SandboxId {
        match (self.mode, named) {
            (Mode::Shared, Some(named)) => named.clone(),
            _ => self.sandbox.clone(),
        }
    }

    /// The runtime's own workspace.
    #[must_use]
    pub fn own_workspace(&self) -> Workspace {
        Workspace::new(self.workspace.clone(), self.mount.clone())
    }

    /// Where the files of a request go.
    #[must_use]
    pub fn files(&self, cargo: Option<&CargoId>) -> Files {
        let workspace = match (self.mode, cargo) {
            (Mode::Single, _) => self.own_workspace(),
            (Mode::Shared, Some(cargo)) => Workspace::among(self.cargos.clone(), cargo.folder(), self.mount.clone()),
            (Mode::Shared, None) => {
                let reason = "this command writes a file, and the request does not say into whose workspace";
                return Files::Nowhere(Decision::new(Code::ArgumentMissing, reason).at("cargo_id"));
            }
        };
        Files::Workspace(workspace.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for text in ["a", "A-b_9", "-x", &"x".repeat(128)] {
            assert!(SandboxId::new(text).is_some() && CargoId::new(text).is_some(), "{text}");
        }
        for text in ["", ".", "a.b", "a/b", "a b", "é", "a\n", &"x".repeat(129)] {
            assert!(SandboxId::new(text).is_none() && CargoId::new(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn spec_4_1_a_request_names_its_session_and_workspace_only_where_there_are_many() {
        let identity = |mode| Identity {
            mode,
            sandbox: SandboxId::new("own").expect("a name"),
            workspace: "/workspace".into(),
            mount: "/workspace".to_owned(),
            cargos: "/cargos".into(),
        };
        let (other, cargo) = (SandboxId::new("other"), CargoId::new("c1"));
        let (single, shared) = (identity(Mode::Single), identity(Mode::Shared));
        assert_eq!(single.sandbox_of(other.as_ref()).as_str(), "own");
        assert_eq!(shared.sandbox_of(other.as_ref()).as_str(), "other");
        let expected = Workspace::among("/cargos".into(), "bay-cargo-c1".to_owned(), "/workspace".to_owned());
        assert!(matches!(shared.files(cargo.as_ref()), Files::Workspace(workspace) if *workspace == expected));
        assert!(
            matches!(single.files(cargo.as_ref()), Files::Workspace(workspace) if *workspace == single.own_workspace())
        );
        assert!(matches!(shared.files(None), Files::Nowhere(decision) if decision.code == Code::ArgumentMissing));
    }
}
