//! The skills that come with the runtime, and their copies in the workspace.
//!
//! Decides what counts as a skill: a folder with a `SKILL.md` whose front matter has a name and a description. They are
//! copied when the runtime starts, so that an agent without this container's files can read them. Must never write through
//! a link that somebody put into the workspace, and never keep the runtime from starting.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::workspace::Workspace;

/// The most bytes of one file of a skill.
const MAX_FILE: u64 = 1024 * 1024;

/// The folder of the copies in the workspace.
const FOLDER: &str = "skills";

/// One skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is also its folder's.
    pub name: String,
    /// When an agent should read it.
    pub description: String,
    /// Its files, below its folder.
    files: Vec<String>,
}

impl Skill {
    /// The skill as `/meta` lists it.
    #[must_use]
    pub fn to_json(&self, workspace: &Workspace) -> Value {
        let path = workspace.shown(&format!("{FOLDER}/{}/SKILL.md", self.name));
        json!({ "name": self.name, "description": self.description, "path": path })
    }
}

/// The skills in a folder, by name. A folder that is not there holds none; what is no skill is left out, and said.
#[must_use]
pub fn find(folder: &Path) -> Vec<Skill> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut skills: Vec<_> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| {
            let path = entry.path();
            let skill = entry.file_name().to_str().and_then(|name| read(&path, name));
            if skill.is_none() {
                tracing::warn!(folder = %path.display(), "this is no skill: its SKILL.md must begin with a front matter that has its own folder's name and a description");
            }
            skill
        })
        .collect();
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

fn read(folder: &Path, name: &str) -> Option<Skill> {
    let text = fs::read_to_string(folder.join("SKILL.md")).ok()?;
    let (title, description) = front_matter(&text)?;
    if title != name {
        return None;
    }
    let mut files = Vec::new();
    list(folder, "", &mut files).ok()?;
    files.sort();
    Some(Skill { name: name.to_owned(), description, files })
}

/// Plain files only; hidden ones are nobody's business.
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
        } else if kind.is_file() && entry.metadata()?.len() <= MAX_FILE {
            files.push(path);
        }
    }
    Ok(())
}

/// Name and description of a front matter: lines `key: value` between two lines `---` at the very beginning. A value that
/// goes on over further, indented lines is joined.
fn front_matter(text: &str) -> Option<(String, String)> {
    let mut lines = text.lines();
    if lines.next()? != "---" {
        return None;
    }
    let mut members: Vec<(String, String)> = Vec::new();
    for line in lines {
        if line == "---" {
            let find = |wanted: &str| {
                members.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.clone()).filter(|v| !v.is_empty())
            };
            return Some((find("name")?, find("description")?));
        }
        match line.split_once(':') {
            Some((key, value)) if !line.starts_with([' ', '\t']) => {
                let value = value.trim().trim_start_matches(['>', '|', '-']).trim();
                members.push((key.trim().to_owned(), value.trim_matches(['"', '\'']).to_owned()));
            }
            _ => {
                let (_, value) = members.last_mut()?;
                let joined = format!("{value} {}", line.trim());
                joined.trim().clone_into(value);
            }
        }
    }
    None
}

/// Copies the skills into the workspace. What cannot be copied is said, and missing there.
pub fn copy(folder: &Path, skills: &[Skill], workspace: &Workspace) {
    for skill in skills {
        for file in &skill.files {
            let copied = fs::File::open(folder.join(&skill.name).join(file))
                .map_err(|error| error.to_string())
                .and_then(|mut source| {
                    let to = format!("{FOLDER}/{}/{file}", skill.name);
                    workspace.write(&to, &mut source).map_err(|error| error.to_string())
                });
            if let Err(error) = copied {
                tracing::warn!(
                    skill = skill.name,
                    file,
                    error,
                    "a file of a skill cannot be copied into the workspace"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn front_matters() {
        let read = |text: &str| front_matter(text);
        let expected = Some(("a".to_owned(), "b c: d".to_owned()));
        assert_eq!(read("---\nname: a\ndescription: b c: d\n---\n# x"), expected);
        assert_eq!(read("---\nname: \"a\"\ndescription: >-\n  b\n  c: d\nother: x\n---\n"), expected);
        for text in
            ["", "# a", "---\nname: a\n---\n", "---\nname: a\ndescription: b", " ---\nname: a\ndescription: b\n---"]
        {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn spec_4_3_skills_are_found_and_copied_and_no_link_is_followed() {
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
        assert_eq!(skills[0].to_json(&workspace)["path"], "/workspace/skills/good/SKILL.md");
        fs::remove_dir_all(to.join("skills")).expect("removed");
        symlink(&outside, to.join("skills")).expect("linked");
        copy(&from, &skills, &workspace);
        assert_eq!(fs::read_dir(&outside).expect("read").count(), 0);
        assert!(find(&root.path().join("nowhere")).is_empty());
    }
}
