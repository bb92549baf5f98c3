//! Skills that come with the runtime, and their copies in the workspace.
//!
//! A skill is a folder with a `SKILL.md` whose front matter has a name and a description. Skills are copied when the runtime
//! starts, so that an agent without access to this container's files can read them.
//!
//! Invariants: copying follows no link in the workspace, and a skill that is broken does not keep the runtime from starting.
//! Requirement 4.3.

use std::fs;
use std::io;
use std::path::Path;

use crate::api::orchestrator::front_matter::FrontMatter;
use crate::api::orchestrator::replies::SkillMeta;
use crate::call::workspace::Workspace;

/// Maximum size of one file of a skill, in bytes.
const MAX_FILE_SIZE: u64 = 1024 * 1024;

/// Folder of the copies in the workspace.
const FOLDER: &str = "skills";

/// Skill in the folder of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skill {
    /// Name of the skill and of its folder.
    pub name: String,
    /// Advice on when to read it.
    pub description: String,
    /// Paths of its files below its folder.
    files: Vec<String>,
}

impl Skill {
    /// Returns the skill as `/meta` lists it.
    #[must_use]
    pub(crate) fn to_meta(&self, workspace: &Workspace) -> SkillMeta {
        let path = workspace.agent_path(&format!("{FOLDER}/{}/SKILL.md", self.name));
        SkillMeta { name: self.name.clone(), description: self.description.clone(), path }
    }
}

/// Returns the skills in a folder, sorted by name. Logs and skips folders that are no skills; a missing folder has none.
#[must_use]
pub(crate) fn find(folder: &Path) -> Vec<Skill> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut skills: Vec<_> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| {
            let path = entry.path();
            let skill = entry.file_name().to_str().and_then(|name| read(&path, name));
            if skill.is_none() {
                tracing::warn!(folder = %path.display(), "skipped a folder that is no skill; its SKILL.md must begin with YAML front matter that has the folder's name and a description");
            }
            skill
        })
        .collect();
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

fn read(folder: &Path, name: &str) -> Option<Skill> {
    let text = fs::read_to_string(folder.join("SKILL.md")).ok()?;
    let front_matter = FrontMatter::parse(&text).filter(|front_matter| front_matter.name == name)?;
    let mut files = Vec::new();
    list(folder, "", &mut files).ok()?;
    files.sort();
    Some(Skill { name: front_matter.name, description: front_matter.description, files })
}

/// Adds the regular files of a folder and of those below it, except hidden ones.
fn list(folder: &Path, below: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().filter(|name| !name.starts_with('.')).map(str::to_owned) else {
            continue;
        };
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list(&entry.path(), &path, files)?;
        } else if kind.is_file() && entry.metadata()?.len() <= MAX_FILE_SIZE {
            files.push(path);
        }
    }
    Ok(())
}

/// Copies the skills into the workspace. Logs and skips files that cannot be copied.
pub(crate) fn copy(folder: &Path, skills: &[Skill], workspace: &Workspace) {
    for skill in skills {
        for file in &skill.files {
            let copied = fs::File::open(folder.join(&skill.name).join(file))
                .map_err(|error| error.to_string())
                .and_then(|mut source| {
                    let to = format!("{FOLDER}/{}/{file}", skill.name);
                    workspace.write(&to, &mut source).map_err(|error| error.to_string())
                });
            if let Err(error) = copied {
                tracing::warn!(skill = skill.name, file, error, "cannot copy a file of a skill into the workspace");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    // Requirement 4.3.
    #[test]
    fn skills_are_listed_and_copied_without_following_links() {
        let root = tempfile::tempdir().expect("a folder");
        let (from, to, outside) = (root.path().join("from"), root.path().join("to"), root.path().join("outside"));
        for folder in ["from/good/references", "from/nameless", "from/other", "to", "outside"] {
            fs::create_dir_all(root.path().join(folder)).expect("made");
        }
        fs::write(from.join("good/SKILL.md"), "---\nname: good\ndescription: does it\n---\n").expect("written");
        fs::write(from.join("good/references/more.md"), "more").expect("written");
        symlink("/etc/passwd", from.join("good/link")).expect("linked");
        fs::write(from.join("nameless/SKILL.md"), "# none").expect("written");
        fs::write(from.join("other/SKILL.md"), "---\nname: good\ndescription: another's name\n---\n").expect("written");
        let skills = find(&from);
        assert_eq!(skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["good"]);
        let workspace = Workspace::new(to.clone(), "/workspace".to_owned());
        copy(&from, &skills, &workspace);
        copy(&from, &skills, &workspace);
        assert_eq!(fs::read_to_string(to.join("skills/good/references/more.md")).expect("copied"), "more");
        assert!(!to.join("skills/good/link").exists());
        assert_eq!(skills[0].to_meta(&workspace).path, "/workspace/skills/good/SKILL.md");
        fs::remove_dir_all(to.join("skills")).expect("removed");
        symlink(&outside, to.join("skills")).expect("linked");
        copy(&from, &skills, &workspace);
        assert_eq!(fs::read_dir(&outside).expect("read").count(), 0);
        assert!(find(&root.path().join("nowhere")).is_empty());
    }
}
