//! Skills that come with the runtime, and their copies in the workspace.
//!
//! A skill is a folder with a `SKILL.md` whose front matter, YAML between two lines `---` at the beginning of the file, has a name and a
//! description. Skills are copied when the runtime starts, so that an agent without access to this container's files can read them.
//!
//! Invariants: copying follows no link in the workspace, and a skill that is broken does not keep the runtime from starting.
//! Requirement 4.3.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io};

use saphyr_parser::{Event, Parser};
use tokio_util::sync::CancellationToken;

use crate::api::orchestrator::replies::SkillMeta;
use crate::call::workspace::Workspace;

/// Maximum size of one file of a skill, in bytes.
const MAX_FILE_SIZE: u64 = 1024 * 1024;

/// Interval between attempts to copy files into a workspace that cannot be written.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

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

/// Copies the skills into the workspace, and tries again until each file is there or `stop` is canceled: an orchestrator may
/// make the workspace writable after the start.
pub(crate) async fn copy_all(folder: PathBuf, skills: Vec<Skill>, workspace: Workspace, stop: CancellationToken) {
    let mut left = files_of(&skills);
    let mut is_logged = false;
    loop {
        let (folder, workspace) = (folder.clone(), workspace.clone());
        let copying = tokio::task::spawn_blocking(move || copy(&folder, left, &workspace)).await;
        let Ok(failed) = copying else { return };
        let Some((file, error)) = failed.first() else {
            if is_logged {
                tracing::info!("the skills are in the workspace now");
            }
            return;
        };
        if !is_logged {
            let files = failed.len();
            tracing::warn!(
                files,
                file = file.to_string(),
                error,
                "cannot copy skills into the workspace yet; trying again"
            );
            is_logged = true;
        }
        left = failed.into_iter().map(|(file, _)| file).collect();
        tokio::select! {
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// File of a skill: the name of the skill, and the path below its folder.
#[derive(Debug)]
struct SkillFile(String, String);

impl fmt::Display for SkillFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, self.1)
    }
}

fn files_of(skills: &[Skill]) -> Vec<SkillFile> {
    let files =
        skills.iter().flat_map(|skill| skill.files.iter().map(|file| SkillFile(skill.name.clone(), file.clone())));
    files.collect()
}

/// Copies files into the workspace, and returns those that cannot be copied, with the reasons.
fn copy(folder: &Path, files: Vec<SkillFile>, workspace: &Workspace) -> Vec<(SkillFile, String)> {
    let copy = |file: &SkillFile| {
        let mut source = fs::File::open(folder.join(&file.0).join(&file.1)).map_err(|error| error.to_string())?;
        workspace.write(&format!("{FOLDER}/{file}"), &mut source).map_err(|error| error.to_string())
    };
    files.into_iter().filter_map(|file| copy(&file).err().map(|error| (file, error))).collect()
}

/// Name and description of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FrontMatter {
    /// Name of the skill.
    name: String,
    /// Advice on when to read it.
    description: String,
}

impl FrontMatter {
    /// Parses the front matter of a file; `None` if there is none, or if it lacks one of the two members.
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
        let end = rest.lines().position(|line| line == "---")?;
        let lines: Vec<_> = rest.lines().take(end).collect();
        Self::from_yaml(&lines.join("\n"))
    }

    /// Reads the members of the outermost mapping. Other members may have any value.
    fn from_yaml(yaml: &str) -> Option<Self> {
        let (mut name, mut description) = (None, None);
        let (mut depth, mut key) = (0_usize, None::<String>);
        for event in Parser::new_from_str(yaml) {
            let scalar = match event.ok()?.0 {
                Event::SequenceStart(..) if depth == 0 => return None,
                Event::MappingStart(..) | Event::SequenceStart(..) => {
                    depth += 1;
                    continue;
                }
                Event::MappingEnd | Event::SequenceEnd => {
                    depth -= 1;
                    None
                }
                Event::Scalar(text, ..) => Some(text.trim().to_owned()),
                Event::Alias(_) => None,
                _ => continue,
            };
            if depth == 1 {
                match (key.take(), scalar) {
                    (None, scalar) => key = Some(scalar.unwrap_or_default()),
                    (Some(key), scalar) if key == "name" => name = scalar,
                    (Some(key), scalar) if key == "description" => description = scalar,
                    _ => {}
                }
            }
        }
        let member = |value: Option<String>| value.filter(|value| !value.is_empty());
        Some(Self { name: member(name)?, description: member(description)? })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

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
        for _ in 0..2 {
            assert!(copy(&from, files_of(&skills), &workspace).is_empty());
        }
        assert_eq!(fs::read_to_string(to.join("skills/good/references/more.md")).expect("copied"), "more");
        assert!(!to.join("skills/good/link").exists());
        assert_eq!(skills[0].to_meta(&workspace).path, "/workspace/skills/good/SKILL.md");
        fs::remove_dir_all(to.join("skills")).expect("removed");
        symlink(&outside, to.join("skills")).expect("linked");
        assert_eq!(copy(&from, files_of(&skills), &workspace).len(), 2);
        assert_eq!(fs::read_dir(&outside).expect("read").count(), 0);
        assert!(find(&root.path().join("nowhere")).is_empty());
    }

    // Requirement 4.3.
    #[tokio::test]
    async fn skills_are_copied_when_workspace_becomes_usable() {
        let root = tempfile::tempdir().expect("a folder");
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir_all(from.join("good")).expect("made");
        fs::write(from.join("good/SKILL.md"), "---\nname: good\ndescription: does it\n---\n").expect("written");
        let workspace = Workspace::new(to.clone(), "/workspace".to_owned());
        let stop = CancellationToken::new();
        let copying = tokio::spawn(copy_all(from.clone(), find(&from), workspace.clone(), stop.clone()));
        // A test as root can write everywhere, so the workspace is missing instead.
        tokio::task::yield_now().await;
        assert!(!copying.is_finished());
        fs::create_dir(&to).expect("made");
        copying.await.expect("ended");
        assert!(to.join("skills/good/SKILL.md").exists());
        fs::remove_dir_all(&to).expect("removed");
        let copying = tokio::spawn(copy_all(from.clone(), find(&from), workspace, stop.clone()));
        stop.cancel();
        copying.await.expect("it ends with the runtime");
    }

    #[test]
    fn skill_front_matter_is_parsed() {
        let expected =
            |description: &str| Some(FrontMatter { name: "a".to_owned(), description: description.to_owned() });
        for (text, description) in [
            ("---\nname: a\ndescription: b c, d\n---\n# x", "b c, d"),
            ("---\nname: a\ndescription: b\n---", "b"),
            ("---\r\nname: a\r\ndescription: b\r\n---\r\n", "b"),
            ("---\nname: \"a\"\ndescription: >-\n  b\n  c: d\nother: x\n---\n", "b c: d"),
            ("---\nname: a\ndescription: |\n  b\n  c\n---\n", "b\nc"),
            // A dash at the beginning, and quotes, belong to the text where YAML says so.
            ("---\nname: a\ndescription: -x turns it on\n---\n", "-x turns it on"),
            ("---\nname: a\ndescription: \"- b: c\"\n---\n", "- b: c"),
            ("---\nname: 'a'\ndescription: 'it''s \"b\"'\n---\n", "it's \"b\""),
            ("---\nname: a\ndescription: \"b \\\"c\\\"\"\n---\n", "b \"c\""),
            ("---\nmetadata:\n  name: other\n  tags: [x, {name: y}]\nname: a\ndescription: b\n---\n", "b"),
        ] {
            assert_eq!(FrontMatter::parse(text), expected(description), "{text:?}");
        }
        for text in [
            "",
            "# a",
            "---\nname: a\n---\n",
            "---\nname: a\ndescription: b",
            " ---\nname: a\ndescription: b\n---",
            "---\nname: a\ndescription: [b]\n---\n",
            "---\nname: a\ndescription: \"b\n---\n",
            "---\n- name: a\n- description: b\n---\n",
            "---\n[name, a, description, b]\n---\n",
            "---\nname: a\ndescription: b c: d\n---\n",
            "---\nname: a\ndescription:\n---\n",
        ] {
            assert_eq!(FrontMatter::parse(text), None, "{text:?}");
        }
    }
}
