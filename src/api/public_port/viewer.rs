//! Files of the viewer: noVNC as it is installed, and the page that opens it.
//!
//! All files are read when the server starts, so a request selects one of a known list and never a path.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hyper::body::Bytes;
use thiserror::Error;

use browser_shell_system::os::describe;

/// Script that makes noVNC's page open connected and scaled. It is the first in the page, so that the page is requested once.
const OPENING_SCRIPT: &str = concat!("<script>\n", include_str!("opening.js"), "</script>\n");

/// Element of noVNC's page that the script is put after.
const HEAD: &str = "<head>";

/// noVNC's page in different packages, the first that exists.
const PAGES: [&str; 2] = ["index.html", "vnc.html"];

/// File that every noVNC has.
const MAIN_MODULE: &str = "core/rfb.js";

/// Extensions of files that are served, with their media types.
const TYPES: &[(&str, &str)] = &[
    ("css", "text/css"),
    ("html", PAGE),
    ("ico", "image/x-icon"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("mp3", "audio/mpeg"),
    ("oga", "audio/ogg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("ttf", "font/ttf"),
    ("wasm", "application/wasm"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
];

const PAGE: &str = "text/html; charset=utf-8";

/// Maximum depth of folders.
const MAX_DEPTH: usize = 8;

/// Maximum size of all files, in bytes. noVNC has two million.
const MAX_SIZE: usize = 32 * 1024 * 1024;

/// Reason why the viewer's files cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ViewerError {
    #[error("cannot read `{}`: {}", path.display(), describe(source))]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` is not noVNC: {MAIN_MODULE} or vnc.html is missing", .0.display())]
    NotNovnc(PathBuf),
    #[error("`{}` has more than {} MiB of files, so it is not noVNC", .0.display(), MAX_SIZE / 1024 / 1024)]
    TooLarge(PathBuf),
}

/// File of the viewer.
#[derive(Clone, Debug)]
pub(super) struct ViewerFile {
    /// Content.
    pub content: Bytes,
    /// Media type.
    pub media_type: &'static str,
}

impl ViewerFile {
    /// Returns true for a page. The other files are public: they are noVNC's, and pages load them without credentials.
    pub(super) fn is_page(&self) -> bool {
        self.media_type == PAGE
    }
}

/// All files of the viewer, by path.
#[derive(Debug)]
pub(crate) struct ViewerFiles(HashMap<String, ViewerFile>);

impl ViewerFiles {
    /// Reads the files of a noVNC.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read or is no noVNC.
    pub(crate) fn read(folder: &Path) -> Result<Self, ViewerError> {
        let root = folder.canonicalize().map_err(|source| ViewerError::Read { path: folder.to_owned(), source })?;
        let mut reader = FileReader { root: &root, files: HashMap::new(), size: 0 };
        reader.read_folder(&root, "", 0)?;
        let mut files = reader.files;
        let page = PAGES.into_iter().find_map(|name| files.get(name).cloned());
        let (Some(page), true) = (page, files.contains_key(MAIN_MODULE)) else {
            return Err(ViewerError::NotNovnc(folder.to_owned()));
        };
        let opening = opening_page(&page.content).ok_or_else(|| ViewerError::NotNovnc(folder.to_owned()))?;
        files.insert("index.html".to_owned(), page);
        files.insert(String::new(), ViewerFile { content: opening, media_type: PAGE });
        Ok(Self(files))
    }

    /// Returns the file with exactly this path.
    pub(super) fn get(&self, path: &str) -> Option<&ViewerFile> {
        self.0.get(path)
    }
}

/// Returns noVNC's page with the script that opens it connected.
fn opening_page(page: &[u8]) -> Option<Bytes> {
    let (start, end) = std::str::from_utf8(page).ok()?.split_once(HEAD)?;
    Some(format!("{start}{HEAD}\n{OPENING_SCRIPT}{end}").into())
}

struct FileReader<'a> {
    root: &'a Path,
    files: HashMap<String, ViewerFile>,
    size: usize,
}

impl FileReader<'_> {
    fn read_folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), ViewerError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ViewerError::Read { path, source }
        };
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let path = entry.map_err(failed(folder))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| is_plain(name)) else {
                continue;
            };
            // Packages have links between their files. One that leads out of the folder has no file.
            let Ok(real) = path.canonicalize() else { continue };
            if !real.starts_with(self.root) {
                continue;
            }
            let name = format!("{prefix}{name}");
            if real.is_dir() {
                if depth < MAX_DEPTH {
                    self.read_folder(&real, &format!("{name}/"), depth + 1)?;
                }
            } else if let Some(media_type) = media_type(&name, depth) {
                let content = fs::read(&real).map_err(failed(&path))?;
                self.size += content.len();
                if self.size > MAX_SIZE {
                    return Err(ViewerError::TooLarge(self.root.to_owned()));
                }
                self.files.insert(name, ViewerFile { content: content.into(), media_type });
            }
        }
        Ok(())
    }
}

/// Returns the media type of a file that is served. Pages are in the first folder only.
fn media_type(name: &str, depth: usize) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let (_, media_type) = TYPES.iter().find(|(known, _)| *known == extension)?;
    (depth == 0 || *media_type != PAGE).then_some(media_type)
}

/// Returns true for a name that is written the same way in an address, and is not hidden.
fn is_plain(name: &str) -> bool {
    !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_listed_files_of_novnc_are_served() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            fs::write(path, text).expect("written");
        };
        assert!(matches!(ViewerFiles::read(folder.path()), Err(ViewerError::NotNovnc(_))));
        write("vnc.html", "<html><head><title>noVNC</title>");
        for name in ["core/rfb.js", "core/.hidden.js", "core/page.html", "a b.js", "run.sh", "key.pem", ".git/x.json"] {
            write(name, name);
        }
        symlink("vnc.html", folder.path().join("vnc_auto.html")).expect("linked");
        symlink("/etc/hostname", folder.path().join("outside.js")).expect("linked");
        symlink("..", folder.path().join("core/loop")).expect("linked");
        let files = ViewerFiles::read(folder.path()).expect("read");
        let opening = String::from_utf8(files.get("").expect("a page").content.to_vec()).expect("text");
        assert!(opening.starts_with("<html><head>\n<script>") && opening.ends_with("</script>\n<title>noVNC</title>"));
        for name in ["", "index.html", "vnc.html", "vnc_auto.html", "core/rfb.js"] {
            let file = files.get(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(file.is_page(), name != "core/rfb.js", "{name}");
        }
        for name in [
            "core/.hidden.js",
            "core/page.html",
            "a b.js",
            "run.sh",
            "key.pem",
            ".git/x.json",
            "outside.js",
            "core/",
            "./vnc.html",
            "core/../vnc.html",
            "Vnc.html",
        ] {
            assert!(files.get(name).is_none(), "{name}");
        }
    }
}
