//! Files that names and wildcards of `denyRead` and `denyWrite` match.
//!
//! No backend can refuse a name that does not exist yet: its rules are for files. So the files are searched for each time before a
//! program starts in the sandbox, and what is made later is reported as not enforced.
//!
//! Invariants: a folder that is too large to be searched is an error. Links are not followed.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use browser_shell_core::policy::sandbox::{FileRule, FilesystemRules, Pattern};
use thiserror::Error;

use super::plan::{Plan, extend_without_nested, path_inside, real_path};

/// The most files and folders that one search visits.
const MAX_VISITED: usize = 500_000;

/// The most files and folders that one search finds.
const MAX_FOUND: usize = 2000;

/// Reason why denied files cannot be searched for.
#[derive(Debug, Error)]
pub enum SearchError {
    /// There are too many files.
    #[error(
        "the folders of the sandbox hold more than {MAX_VISITED} files, too many to search for names of `sandbox.filesystem`; allow a smaller folder, or name the files by absolute paths"
    )]
    TooManyFiles,
    /// Too many files match.
    #[error(
        "names of `sandbox.filesystem` match more than {MAX_FOUND} files; deny the folder that holds them, or allow a smaller one"
    )]
    TooManyMatches,
    /// A folder cannot be listed.
    #[error("cannot list `{}`: {source}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The search did not end by itself.
    #[error("the search for denied files was aborted")]
    Aborted,
}

/// Returns the plan with the files that match now: those of `denyRead` masked, and those of `denyWrite` read-only.
///
/// # Errors
///
/// If the search cannot be complete.
pub(super) fn find(rules: &FilesystemRules, plan: &Plan) -> Result<Plan, SearchError> {
    let patterns = |rules: &'_ [FileRule]| rules.iter().filter_map(FileRule::pattern).cloned().collect();
    let mut search = FileSearch {
        plan,
        masks: patterns(&rules.deny_read),
        fixes: patterns(&rules.deny_write),
        masked: plan.masked.clone(),
        read_only: plan.read_only.clone(),
        visited: 0,
    };
    for folder in &plan.read {
        search.walk(folder, false)?;
    }
    for folder in plan.write.iter().chain(&plan.sockets) {
        search.walk(folder, true)?;
    }
    let mut found = Plan { masked: search.masked, read_only: search.read_only, ..plan.clone() };
    found.remove_masked_from_read_only();
    Ok(found)
}

/// Returns the parts of the denials that a backend with its own file view does not enforce: files that do not exist.
#[must_use]
pub(super) fn missing(rules: &FilesystemRules, plan: &Plan) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, rules, paths) in
        [("denyRead", &rules.deny_read, &plan.masked), ("denyWrite", &rules.deny_write, &plan.read_only)]
    {
        let names = matching_below(rules, plan, name == "denyRead");
        if !names.is_empty() {
            missing.push(format!("filesystem.{name} of {} for files that are made later", names.join(", ")));
        }
        for path in paths.iter().filter(|path| path.symlink_metadata().is_err()) {
            missing.push(format!("filesystem.{name} of `{}`, which does not exist yet", path.display()));
        }
    }
    missing
}

/// Returns the patterns that can match in a folder of the plan, in backticks.
pub(super) fn matching_below(rules: &[FileRule], plan: &Plan, in_readable: bool) -> Vec<String> {
    let readable = plan.read.iter().filter(|_| in_readable);
    let folders: Vec<&PathBuf> = readable.chain(&plan.write).chain(&plan.sockets).collect();
    let can_match = |pattern: &&Pattern| {
        folders.iter().any(|folder| pattern.can_match_below(folder) || pattern.can_match_below(&real_path(folder)))
    };
    let patterns = rules.iter().filter_map(FileRule::pattern).filter(can_match);
    patterns.map(|pattern| format!("`{}`", pattern.as_str())).collect()
}

struct FileSearch<'a> {
    plan: &'a Plan,
    masks: Vec<Pattern>,
    fixes: Vec<Pattern>,
    masked: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
    visited: usize,
}

impl FileSearch<'_> {
    /// Searches a folder that the sandbox shows.
    fn walk(&mut self, root: &Path, is_writable: bool) -> Result<(), SearchError> {
        let real_root = real_path(root);
        let is_possible = |pattern: &Pattern| pattern.can_match_below(root) || pattern.can_match_below(&real_root);
        let has_fixes = is_writable && self.fixes.iter().any(is_possible);
        if root.starts_with("/proc") || !(has_fixes || self.masks.iter().any(is_possible)) {
            return Ok(());
        }
        // A link to a file is one file, which the plan itself names.
        let mut folders = if real_root.is_dir() { vec![PathBuf::new()] } else { Vec::new() };
        while let Some(folder) = folders.pop() {
            let path = root.join(&folder);
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                // The sandbox has no more rights than this process.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => continue,
                Err(source) => return Err(SearchError::Unreadable { path, source }),
            };
            for entry in entries {
                let entry = entry.map_err(|source| SearchError::Unreadable { path: path.clone(), source })?;
                self.visited += 1;
                if self.visited > MAX_VISITED {
                    return Err(SearchError::TooManyFiles);
                }
                let below = folder.join(entry.file_name());
                let (shown, real) = (root.join(&below), real_root.join(&below));
                let matches = |patterns: &[Pattern]| {
                    patterns.iter().any(|pattern| pattern.matches(&shown) || pattern.matches(&real))
                };
                let file_type = entry.file_type().ok();
                if matches(&self.masks) {
                    let paths = self.paths_of(&shown, file_type);
                    extend_without_nested(&mut self.masked, paths);
                    self.check_count()?;
                    continue;
                }
                if has_fixes && matches(&self.fixes) {
                    let paths = self.paths_of(&shown, file_type);
                    extend_without_nested(&mut self.read_only, paths);
                    self.check_count()?;
                }
                if file_type.is_some_and(|file_type| file_type.is_dir()) && !self.masked.contains(&shown) {
                    folders.push(below);
                }
            }
        }
        Ok(())
    }

    /// Returns the paths that a denied entry has in the sandbox. Of a link, these are the paths of its target.
    fn paths_of(&self, entry: &Path, file_type: Option<fs::FileType>) -> Vec<PathBuf> {
        if !file_type.is_some_and(|file_type| file_type.is_symlink()) {
            return vec![entry.to_owned()];
        }
        let Ok(target) = entry.canonicalize() else { return Vec::new() };
        let shown = [&self.plan.read, &self.plan.execute, &self.plan.write, &self.plan.sockets].into_iter().flatten();
        shown.filter_map(|folder| path_inside(folder, &target)).collect()
    }

    fn check_count(&self) -> Result<(), SearchError> {
        if self.masked.len() + self.read_only.len() > MAX_FOUND { Err(SearchError::TooManyMatches) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
