//! A workspace: the folder that a session shares with its orchestrator's other containers.
//!
//! Decides how a file gets there. Whoever else writes to the folder may put links into it, at any moment; so every path is
//! walked by the kernel below the folder (`openat2(2)`, `RESOLVE_BENEATH`), and a file appears under its name whole, in place
//! of whatever had that name. Must never open a path that was only checked.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::argv::WORKSPACE;
use crate::decision::{Code, Decision};

/// Files and folders are for the other containers too, whose users have other numbers.
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;

/// Why a file did not get there.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// The workspace itself is not there or not a folder.
    #[error("cannot use the workspace `{}`: {source}", path.display())]
    Root {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The path leads out of the workspace, by a link.
    #[error("`{0}` leads out of the workspace")]
    Outside(String),
    /// Something that is no folder stands in the way, or a folder has the name of the file.
    #[error("`{0}` is taken by something else")]
    Taken(String),
    /// There is no room.
    #[error("there is no room for `{0}` in the workspace")]
    Full(String),
    /// Anything else.
    #[error("cannot write `{path}` in the workspace: {source}")]
    Write {
        /// The path below the workspace.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

impl From<WorkspaceError> for Decision {
    fn from(error: WorkspaceError) -> Self {
        let (code, reason) = match &error {
            WorkspaceError::Root { .. } => (Code::WorkspaceUnavailable, "the workspace is not there"),
            WorkspaceError::Outside(_) => (Code::FileOutside, "the path leads out of the workspace by a link"),
            WorkspaceError::Taken(_) => (Code::FileOutside, "the path is taken by something that is not a file"),
            WorkspaceError::Full(_) => (Code::WorkspaceFull, "there is no room in the workspace"),
            WorkspaceError::Write { .. } => (Code::WorkspaceUnavailable, "the file cannot be written"),
        };
        if matches!(error, WorkspaceError::Root { .. } | WorkspaceError::Write { .. }) {
            tracing::error!(%error, "a file cannot be carried into the workspace");
        }
        Self::new(code, reason)
    }
}

/// One workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The folder, and below it the one folder that is meant, if it is that of one among many.
    root: PathBuf,
    below: Option<String>,
    mount: String,
}

impl Workspace {
    /// A folder that agents see as `mount`.
    #[must_use]
    pub fn new(root: PathBuf, mount: String) -> Self {
        Self { root, below: None, mount }
    }

    /// One folder among those below `root`, which agents see as `mount`. It may not be a link.
    #[must_use]
    pub fn among(root: PathBuf, name: String, mount: String) -> Self {
        Self { root, below: Some(name), mount }
    }

    /// A path below the workspace as agents see it.
    #[must_use]
    pub fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.mount.trim_end_matches('/'))
    }

    /// A path as the grammar knows it: the workspace is `/workspace` there, whatever agents see it as.
    #[must_use]
    pub fn as_spoken(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(self.mount.trim_end_matches('/'))?.strip_prefix('/')?;
        Some(format!("{WORKSPACE}{rest}"))
    }

    /// Copies a file to a path below the workspace, and gives the path as agents see it. Missing folders are made.
    ///
    /// # Errors
    ///
    /// See [`WorkspaceError`]; then nothing of the file is there.
    pub fn deliver(&self, from: &Path, to: &str) -> Result<String, WorkspaceError> {
        let failed = |error: io::Error| told(to, error);
        // Ours, and gone if agent-browser wrote no file.
        let source = rustix::fs::open(from, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| failed(error.into()))?;
        let mut source = File::from(source);
        if !source.metadata().map_err(failed)?.is_file() {
            return Err(WorkspaceError::Taken(to.to_owned()));
        }
        self.write(to, &mut source)?;
        Ok(self.shown(to))
    }

    /// Writes what can be read to a path below the workspace.
    ///
    /// # Errors
    ///
    /// As [`Self::deliver`].
    pub fn write(&self, to: &str, source: &mut impl io::Read) -> Result<(), WorkspaceError> {
        let failed = |error: io::Error| told(to, error);
        let (folders, name) = to.rsplit_once('/').map_or((None, to), |(folders, name)| (Some(folders), name));
        let folder = self.folder(folders.unwrap_or_default())?;
        let draft = draft_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &draft, flags, Mode::from_raw_mode(0o600))
            .map_err(|error| failed(error.into()))?;
        let mut file = File::from(file);
        let written = io::copy(source, &mut file)
            // The mode is set, not asked for: our own umask is for private files.
            .and_then(|_| rustix::fs::fchmod(&file, Mode::from_raw_mode(FILE_MODE)).map_err(io::Error::from))
            // In place of what is there: a link of that name is replaced, not followed.
            .and_then(|()| rustix::fs::renameat(&folder, &draft, &folder, name).map_err(io::Error::from));
        written.map_err(|error| {
            let _ = rustix::fs::unlinkat(&folder, &draft, AtFlags::empty());
            failed(error)
        })
    }

    /// The folder itself.
    ///
    /// # Errors
    ///
    /// When it is not there, or not a folder.
    pub fn open(&self) -> Result<OwnedFd, WorkspaceError> {
        let path = self.below.as_ref().map_or_else(|| self.root.clone(), |name| self.root.join(name));
        let failed = |source: Errno| WorkspaceError::Root { path: path.clone(), source: source.into() };
        // Opened anew each time: an orchestrator may mount it anew.
        let root = rustix::fs::open(&self.root, FOLDER, Mode::empty()).map_err(failed)?;
        match &self.below {
            None => Ok(root),
            Some(name) => rustix::fs::openat2(
                &root,
                name.as_str(),
                FOLDER,
                Mode::empty(),
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
            )
            .map_err(failed),
        }
    }

    /// A folder below the workspace, made if it is not there. An empty path is the workspace.
    fn folder(&self, path: &str) -> Result<OwnedFd, WorkspaceError> {
        let failed = |error: Errno| told(path, error.into());
        let root = self.open()?;
        let mut folder = root.as_fd().try_clone_to_owned().map_err(|error| told(path, error))?;
        let ends = path.match_indices('/').map(|(at, _)| at).chain((!path.is_empty()).then_some(path.len()));
        for end in ends {
            let so_far = path.get(..end).unwrap_or(path);
            let name = so_far.rsplit_once('/').map_or(so_far, |(_, name)| name);
            let open = || beneath(&root, so_far, FOLDER);
            folder = match open() {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o700)) {
                        Ok(()) => {
                            // The mode of the folder that was opened: its name may be a link by now.
                            let made = beneath(&root, so_far, READABLE).map_err(failed)?;
                            rustix::fs::fchmod(&made, Mode::from_raw_mode(FOLDER_MODE)).map_err(failed)?;
                            made
                        }
                        Err(Errno::EXIST) => open().map_err(failed)?,
                        Err(error) => return Err(failed(error)),
                    }
                }
                result => result.map_err(failed)?,
            };
        }
        Ok(folder)
    }
}

/// How folders are opened: to walk on from there.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How a new folder is opened: its mode is set.
const READABLE: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens a folder below another one, with the kernel's word that no step led out.
fn beneath(root: &OwnedFd, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    // Somebody moves folders about just now: the kernel cannot say whether it stayed inside, so it is asked again.
    for _ in 0..16 {
        match rustix::fs::openat2(root, path, flags, Mode::empty(), how) {
            Err(Errno::AGAIN) => {}
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}

/// A system's error about a path below the workspace.
fn told(path: &str, source: io::Error) -> WorkspaceError {
    let path = path.to_owned();
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::XDEV | Errno::LOOP) => WorkspaceError::Outside(path),
        Some(Errno::NOTDIR | Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => WorkspaceError::Taken(path),
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => WorkspaceError::Full(path),
        _ => WorkspaceError::Write { path, source },
    }
}

/// A name that no other file of this process has while it is written.
fn draft_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!(".browser-shell-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct World {
        root: tempfile::TempDir,
        workspace: Workspace,
    }

    impl World {
        fn new() -> Self {
            let root = tempfile::tempdir().expect("a folder");
            for name in ["cargos/bay-cargo-a", "cargos/bay-cargo-b", "outside"] {
                fs::create_dir_all(root.path().join(name)).expect("made");
            }
            fs::write(root.path().join("picture"), "picture").expect("written");
            let workspace = Workspace::among(root.path().join("cargos"), "bay-cargo-a".into(), "/workspace".into());
            Self { root, workspace }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        fn deliver(&self, to: &str) -> Result<String, WorkspaceError> {
            self.workspace.deliver(&self.path("picture"), to)
        }

        fn link(&self, name: &str, to: &str) {
            symlink(to, self.path("cargos/bay-cargo-a").join(name)).expect("linked");
        }
    }

    #[test]
    fn spec_4_1_a_file_gets_there_with_its_folders_for_others_to_read() {
        let world = World::new();
        assert_eq!(world.deliver("a.png").expect("there"), "/workspace/a.png");
        assert_eq!(world.deliver("shots/today/a.png").expect("there"), "/workspace/shots/today/a.png");
        assert_eq!(world.deliver("shots/today/a.png").expect("again"), "/workspace/shots/today/a.png");
        let mode = |name: &str| fs::metadata(world.path(name)).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode("cargos/bay-cargo-a/shots/today/a.png"), 0o644);
        assert_eq!(mode("cargos/bay-cargo-a/shots/today"), 0o755);
        assert_eq!(
            fs::read_dir(world.path("cargos/bay-cargo-a/shots/today")).expect("read").count(),
            1,
            "no draft stays"
        );
    }

    #[test]
    fn spec_4_1_no_link_leads_out_and_one_that_stays_inside_is_a_folder() {
        let world = World::new();
        fs::create_dir(world.path("cargos/bay-cargo-a/real")).expect("made");
        world.link("inside", "real");
        assert!(world.deliver("inside/a.png").is_ok(), "control");
        assert!(world.path("cargos/bay-cargo-a/real/a.png").exists());
        let outside = world.path("outside").display().to_string();
        for (name, to) in [
            ("absolute", outside.as_str()),
            ("relative", "../../outside"),
            ("neighbour", "../bay-cargo-b"),
            ("round", "../bay-cargo-a/real"),
            ("proc", "/proc/self/root"),
            ("self", "self"),
        ] {
            world.link(name, to);
            let result = world.deliver(&format!("{name}/a.png"));
            assert!(matches!(result, Err(WorkspaceError::Outside(_))), "{name}: {result:?}");
        }
        for folder in ["outside", "cargos/bay-cargo-b"] {
            assert_eq!(fs::read_dir(world.path(folder)).expect("read").count(), 0, "{folder}");
        }
    }

    #[test]
    fn a_link_with_the_files_own_name_is_replaced_and_not_followed() {
        let world = World::new();
        fs::write(world.path("outside/a.png"), "kept").expect("written");
        world.link("a.png", "../../outside/a.png");
        world.deliver("a.png").expect("there");
        assert_eq!(fs::read_to_string(world.path("outside/a.png")).expect("read"), "kept");
        let there = world.path("cargos/bay-cargo-a/a.png");
        assert!(fs::symlink_metadata(&there).expect("there").is_file());
        assert_eq!(fs::read_to_string(&there).expect("read"), "picture");
    }

    #[test]
    fn what_stands_in_the_way_and_what_is_missing_is_told() {
        let world = World::new();
        fs::create_dir(world.path("cargos/bay-cargo-a/a.png")).expect("made");
        fs::write(world.path("cargos/bay-cargo-a/file"), "").expect("written");
        assert!(matches!(world.deliver("a.png"), Err(WorkspaceError::Taken(_))));
        assert!(matches!(world.deliver("file/a.png"), Err(WorkspaceError::Taken(_))));
        let other = Workspace::among(world.path("cargos"), "bay-cargo-c".into(), "/workspace".into());
        let missing = other.deliver(&world.path("picture"), "a.png");
        assert!(matches!(missing, Err(WorkspaceError::Root { .. })), "a cargo is never made");
        symlink("bay-cargo-a", world.path("cargos/bay-cargo-d")).expect("linked");
        let linked = Workspace::among(world.path("cargos"), "bay-cargo-d".into(), "/workspace".into());
        assert!(linked.deliver(&world.path("picture"), "b.png").is_err(), "nor is it a link to another one");
        assert!(world.deliver("b.png").is_ok(), "control");
    }

    #[test]
    fn whoever_swaps_folders_for_links_meanwhile_gets_nothing_out() {
        let world = World::new();
        let (folder, aside) = (world.path("cargos/bay-cargo-a/d"), world.path("cargos/bay-cargo-a/e"));
        fs::create_dir(&folder).expect("made");
        symlink(world.path("outside"), &aside).expect("linked");
        let stop = std::sync::atomic::AtomicBool::new(false);
        let mut delivered = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let _ = rustix::fs::renameat_with(
                        rustix::fs::CWD,
                        &folder,
                        rustix::fs::CWD,
                        &aside,
                        rustix::fs::RenameFlags::EXCHANGE,
                    );
                }
            });
            for _ in 0..2000 {
                delivered += usize::from(world.deliver("d/a.png").is_ok());
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read_dir(world.path("outside")).expect("read").count(), 0);
        assert!(delivered > 0, "control: some got there");
    }
}
