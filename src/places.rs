//! Where a session's files are, and making and removing them (spec [1.2], [1.5], [1.12]).
//!
//! Decides the layout below the two roots: the private runtime folder (sockets, home, temporary files, locks) and the
//! workspace (pictures). Only a session's key becomes a path component. Must never follow a link that somebody else put
//! there, and never use a folder that another user owns.
//!
//! ```text
//! RUNTIME/secret                  what the names below are made with
//! RUNTIME/s/NAME/KEY.sock, KEY.pid    agent-browser's own sockets; the name cannot be guessed, since no rule of the kernel
//!                                 keeps a program of the same user from a socket whose path it knows
//! RUNTIME/s/NAME.x/               the same of what stands around a sandbox with a network of its own; nobody inside sees it
//! RUNTIME/k/KEY/{home,tmp,cwd}    what the session's processes see as HOME, TMPDIR and working directory
//! RUNTIME/k/KEY.lock              held by the process that uses the session; goes with the session
//! RUNTIME/action-policy*.json     agent-browser's own policy, a second line behind the grammar
//! WORKSPACE/KEY/                  pictures
//! ```

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::argv::Dialect;
use crate::config::Settings;
use crate::session_id::{HASHED_LEN, MAX_LEN, SessionId};

/// The longest path of a Unix socket, without its terminating NUL, that agent-browser accepts.
const MAX_SOCKET_PATH: usize = 103;

/// The length of the name of a session's socket folder.
const NAME_LEN: usize = 16;

/// The bytes of the secret.
const SECRET_LEN: usize = 32;

/// The most files in a session's workspace folder.
pub const MAX_FILES: usize = 100;

/// Why a folder cannot be used.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// The folder cannot be made or read.
    #[error("cannot use the folder `{}`: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is a link or a file.
    #[error("`{}` is not a folder; remove it", .0.display())]
    NotAFolder(PathBuf),
    /// Somebody else owns it.
    #[error("the folder `{}` belongs to another user; choose another one", .0.display())]
    NotOurs(PathBuf),
    /// It is not UTF-8: agent-browser and the keeper are told of it as text.
    #[error("the path `{}` is not UTF-8; choose another one", .0.display())]
    NotUtf8(PathBuf),
    /// Sockets in it would have paths that are too long.
    #[error("the path `{}` is too long for sockets; choose a runtime folder of at most {} bytes", .0.display(), MAX_SOCKET_PATH - "/s/".len() - NAME_LEN - "/".len() - HASHED_LEN - ".sock".len())]
    TooLong(PathBuf),
}

/// The two roots, checked.
#[derive(Clone, Debug)]
pub struct Places {
    runtime: PathBuf,
    workspace: PathBuf,
    key_limit: usize,
    secret: Vec<u8>,
    dialect: Dialect,
}

/// The files of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlaces {
    /// The session's name for agent-browser and in paths.
    pub key: String,
    /// The folder of its sockets.
    pub sockets: PathBuf,
    /// The session's private folder in the runtime folder.
    pub private: PathBuf,
    /// The session's folder in the workspace.
    pub files: PathBuf,
}

impl Places {
    /// Makes and checks the runtime folder, for commands of a dialect. The workspace is made when the first picture is taken.
    ///
    /// # Errors
    ///
    /// When the runtime folder is not usable or not private, or a path is not UTF-8.
    pub fn open(settings: &Settings, dialect: Dialect) -> Result<Self, PlaceError> {
        let runtime = settings.runtime_dir.clone().unwrap_or_else(default_runtime);
        let runtime = absolute(&runtime)?;
        let workspace = absolute(&settings.workspace)?;
        if let Some(path) = [&runtime, &workspace].into_iter().find(|path| path.to_str().is_none()) {
            return Err(PlaceError::NotUtf8(path.clone()));
        }
        let sockets = runtime.join("s");
        let rest = sockets.as_os_str().len() + "/".len() + NAME_LEN + "/.sock".len();
        let key_limit = MAX_SOCKET_PATH.saturating_sub(rest).min(MAX_LEN);
        if key_limit < HASHED_LEN {
            return Err(PlaceError::TooLong(runtime));
        }
        for folder in [&runtime, &sockets, &runtime.join("k")] {
            private_folder(folder)?;
        }
        let secret = secret(&runtime)?;
        let places = Self { runtime, workspace, key_limit, secret, dialect };
        places.write_action_policy()?;
        Ok(places)
    }

    /// The places of a session. Nothing is made yet.
    #[must_use]
    pub fn session(&self, id: &SessionId) -> SessionPlaces {
        let key = id.key(self.key_limit);
        SessionPlaces {
            sockets: self.runtime.join("s").join(self.name(&key)),
            private: self.runtime.join("k").join(&key),
            files: self.workspace.join(&key),
            key,
        }
    }

    /// The name of a session's socket folder: always the same, and not to be guessed without the secret.
    fn name(&self, key: &str) -> String {
        let digest = Sha256::new().chain_update(&self.secret).chain_update(key).finalize();
        let first = digest.first_chunk().copied().map_or(0, u64::from_be_bytes);
        format!("{first:0NAME_LEN$x}")
    }

    /// agent-browser's own policy file: one for each dialect, since several programs can use the folder.
    #[must_use]
    pub fn action_policy(&self) -> PathBuf {
        self.runtime.join(match self.dialect {
            Dialect::Tool => "action-policy.json",
            Dialect::Strict => "action-policy.strict.json",
            Dialect::Compat => "action-policy.compat.json",
        })
    }

    /// The private folder of a browser that is this process's own.
    #[must_use]
    pub fn browser(&self) -> PathBuf {
        self.runtime.join("b").join("browser")
    }

    /// The workspace.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Writes what the dialect's rows need, and nothing else, as allowed.
    fn write_action_policy(&self) -> Result<(), PlaceError> {
        let allow = self.dialect.action_policy();
        let text = json!({ "default": "deny", "allow": allow }).to_string();
        let path = self.action_policy();
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        // Other processes may read it at any time: it is never there by half.
        let draft = self.runtime.join(format!("action-policy.{}", std::process::id()));
        fs::write(&draft, &text)
            .and_then(|()| fs::rename(&draft, &path))
            .map_err(|source| PlaceError::Io { path, source })
    }
}

impl SessionPlaces {
    /// Places below a folder, for tests; nothing is made.
    #[cfg(test)]
    pub(crate) fn below(root: &Path) -> Self {
        Self { key: "s".to_owned(), sockets: root.join("s"), private: root.join("k"), files: root.join("w") }
    }

    /// The session's lock file, beside its private folder.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        let mut path = self.private.clone().into_os_string();
        path.push(".lock");
        path.into()
    }

    /// Where the session's daemon listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.sockets.join(format!("{}.sock", self.key))
    }

    /// The folder of what stands around a sandbox, which nobody inside sees. It lies where paths are short enough for sockets.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        self.sockets.with_extension("x")
    }

    /// `HOME` of the session's processes.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.private.join("home")
    }

    /// `TMPDIR` of the session's processes, by which they are found.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.private.join("tmp")
    }

    /// The working directory of the session's processes: empty and not writable, since agent-browser reads a
    /// configuration file with full power from there.
    #[must_use]
    pub fn cwd(&self) -> PathBuf {
        self.private.join("cwd")
    }

    /// Makes the private folders. Existing ones are kept: the session's daemon may be running.
    ///
    /// # Errors
    ///
    /// When one cannot be made or is not ours.
    pub fn make(&self) -> Result<(), PlaceError> {
        for folder in [&self.sockets, &self.outside(), &self.private, &self.home(), &self.tmp(), &self.cwd()] {
            private_folder(folder)?;
        }
        let cwd = self.cwd();
        fs::set_permissions(&cwd, fs::Permissions::from_mode(0o500))
            .map_err(|source| PlaceError::Io { path: cwd, source })
    }

    /// Makes the folder for pictures and returns how many files are in it.
    ///
    /// # Errors
    ///
    /// When it cannot be made or is not ours.
    pub fn make_files(&self) -> Result<usize, PlaceError> {
        if let Some(workspace) = self.files.parent() {
            fs::create_dir_all(workspace).map_err(|source| PlaceError::Io { path: workspace.to_owned(), source })?;
        }
        private_folder(&self.files)?;
        let entries =
            fs::read_dir(&self.files).map_err(|source| PlaceError::Io { path: self.files.clone(), source })?;
        Ok(entries.count())
    }

    /// Removes everything of the session but its lock. What is not there is not missed.
    pub fn remove(&self) {
        self.remove_private();
        let _ = fs::remove_dir_all(&self.files);
    }

    /// The same without the pictures.
    pub fn remove_private(&self) {
        // Without this an unprivileged user could not remove what is below.
        let _ = fs::set_permissions(self.cwd(), fs::Permissions::from_mode(0o700));
        let _ = fs::remove_dir_all(&self.private);
        let _ = fs::remove_dir_all(&self.sockets);
        let _ = fs::remove_dir_all(self.outside());
    }
}

/// The secret of a runtime folder, made by the first process that uses it.
fn secret(runtime: &Path) -> Result<Vec<u8>, PlaceError> {
    let path = runtime.join("secret");
    let failed = |source| PlaceError::Io { path: path.clone(), source };
    let read = || fs::read(&path).ok().filter(|secret| secret.len() == SECRET_LEN);
    if let Some(secret) = read() {
        return Ok(secret);
    }
    let mut secret = [0; SECRET_LEN];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom").map_err(failed)?, &mut secret).map_err(failed)?;
    // Never there by half, and whoever comes second takes what the first has put there.
    let draft = runtime.join(format!("secret.{}", std::process::id()));
    fs::write(&draft, secret).map_err(failed)?;
    let linked = fs::hard_link(&draft, &path);
    fs::remove_file(&draft).map_err(failed)?;
    match (linked, read()) {
        (_, Some(secret)) => Ok(secret),
        (Err(source), None) => Err(failed(source)),
        (Ok(()), None) => Err(failed(io::Error::other("it is not what was written"))),
    }
}

/// A private folder for the sessions' files, for a process that carries them elsewhere.
///
/// # Errors
///
/// When the runtime folder's path is none.
pub fn files_below(settings: &Settings) -> Result<PathBuf, PlaceError> {
    Ok(absolute(&settings.runtime_dir.clone().unwrap_or_else(default_runtime))?.join("f"))
}

fn default_runtime() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_absolute()) {
        Some(dir) => Path::new(&dir).join("browser-shell"),
        None => PathBuf::from(format!("/tmp/browser-shell-{}", rustix::process::geteuid().as_raw())),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, PlaceError> {
    std::path::absolute(path).map_err(|source| PlaceError::Io { path: path.to_owned(), source })
}

/// Makes a folder that only this user can enter, or checks that the one that is there is such a folder.
fn private_folder(path: &Path) -> Result<(), PlaceError> {
    let failed = |source| PlaceError::Io { path: path.to_owned(), source };
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    // Not `metadata`: a link to a folder of ours is still a link that somebody could have put there.
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(PlaceError::NotAFolder(path.to_owned()));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(PlaceError::NotOurs(path.to_owned()));
    }
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        settings: Settings,
    }

    fn settings(root: &Path) -> Settings {
        let (runtime, workspace) = (root.join("r"), root.join("w"));
        let arguments = [
            "x".into(),
            "--runtime-dir".into(),
            runtime.into_os_string(),
            "--workspace".into(),
            workspace.into_os_string(),
        ];
        Cli::parse_from(arguments).settings
    }

    fn id(text: &str) -> SessionId {
        SessionId::new(text).expect(text)
    }

    #[test]
    fn spec_1_12_folders_are_private_and_the_working_directory_cannot_be_written() {
        let root = tempfile::tempdir().expect("a folder");
        let session = Places::open(&settings(root.path()), Dialect::Tool).expect("opened").session(&id("s"));
        session.make().expect("made");
        session.make().expect("made again");
        let mode = |path: PathBuf| fs::metadata(path).expect("there").mode() & 0o777;
        assert_eq!(mode(session.home()), 0o700);
        assert_eq!(mode(session.tmp()), 0o700);
        assert_eq!(mode(session.cwd()), 0o500);
        assert_eq!(session.make_files().expect("made"), 0);
        assert_eq!(mode(session.files.clone()), 0o700);
        session.remove();
        assert!(!session.private.exists() && !session.files.exists());
    }

    #[test]
    fn spec_1_2_no_id_leads_out_of_the_roots() {
        let root = tempfile::tempdir().expect("a folder");
        let places = Places::open(&settings(root.path()), Dialect::Tool).expect("opened");
        for text in ["...", ".x", "--json", "a.b", "..a"] {
            let session = places.session(&id(text));
            assert_eq!(session.files.parent(), Some(places.workspace()), "{text}");
            assert!(session.socket().as_os_str().len() <= MAX_SOCKET_PATH);
        }
    }

    #[test]
    fn links_and_foreign_folders_are_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let places = Places::open(&settings(root.path()), Dialect::Tool).expect("opened");
        let session = places.session(&id("s"));
        fs::create_dir(places.workspace()).expect("made");
        std::os::unix::fs::symlink("/etc", &session.files).expect("linked");
        assert!(matches!(session.make_files(), Err(PlaceError::NotAFolder(_))));
        session.remove();
        assert!(Path::new("/etc/passwd").exists(), "removing a session does not follow a link");
    }

    #[test]
    fn a_runtime_folder_that_is_too_long_for_sockets_is_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let long = root.path().join("x".repeat(60));
        assert!(matches!(Places::open(&settings(&long), Dialect::Tool), Err(PlaceError::TooLong(_))));
    }

    #[test]
    fn paths_that_are_no_text_are_refused() {
        use std::os::unix::ffi::OsStringExt;
        let root = tempfile::tempdir().expect("a folder");
        for broken in ["runtime", "workspace"] {
            let mut settings = settings(root.path());
            let path = root.path().join(std::ffi::OsString::from_vec(b"\xff".to_vec()));
            *if broken == "runtime" { settings.runtime_dir.get_or_insert_default() } else { &mut settings.workspace } =
                path;
            assert!(matches!(Places::open(&settings, Dialect::Tool), Err(PlaceError::NotUtf8(_))), "{broken}");
        }
        assert!(Places::open(&settings(root.path()), Dialect::Tool).is_ok(), "control");
    }

    #[test]
    fn the_action_policy_allows_the_table_and_nothing_else() {
        let root = tempfile::tempdir().expect("a folder");
        let places = Places::open(&settings(root.path()), Dialect::Tool).expect("opened");
        insta::assert_snapshot!(fs::read_to_string(places.action_policy()).expect("written"));
    }

    #[test]
    fn each_dialect_has_an_action_policy_of_its_own() {
        let root = tempfile::tempdir().expect("a folder");
        let read = |dialect| {
            let places = Places::open(&settings(root.path()), dialect).expect("opened");
            fs::read_to_string(places.action_policy()).expect("written")
        };
        let tool = read(Dialect::Tool);
        insta::assert_snapshot!(format!("{}\n{}", read(Dialect::Strict), read(Dialect::Compat)));
        assert_eq!(fs::read_to_string(root.path().join("r/action-policy.json")).expect("there"), tool, "as it was");
    }
}
