//! Front matter of a `SKILL.md`: YAML between two lines `---` at the beginning of the file.

use saphyr_parser::{Event, Parser};

/// Name and description of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrontMatter {
    /// Name of the skill.
    pub name: String,
    /// Advice on when to read it.
    pub description: String,
}

impl FrontMatter {
    /// Parses the front matter of a file; `None` if there is none, or if it lacks one of the two members.
    pub(crate) fn parse(text: &str) -> Option<Self> {
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
    use super::*;

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
