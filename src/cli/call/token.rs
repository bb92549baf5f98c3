//! Token for a server, from a file or from the environment.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cli::error::CliError;

/// Variable with the token. It is no flag: other users can read a command line.
const VARIABLE: &str = "BROWSER_SHELL_TOKEN";

/// Maximum size of a token in bytes.
const MAX_BYTES: u64 = 16 * 1024;

/// Reason why there is no token.
#[derive(Debug, Error)]
pub(super) enum TokenError {
    #[error("cannot read the token file `{}`: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{0} must hold one line of visible ASCII characters, at most {MAX_BYTES} of them")]
    Invalid(String),
    #[error("there are two tokens; give --token-file or {VARIABLE}, not both")]
    Two,
}

impl From<TokenError> for CliError {
    fn from(error: TokenError) -> Self {
        Self::Command(Box::new(error))
    }
}

/// Returns the token from the file, or from the variable if it is set and not empty.
pub(super) fn read_token(file: Option<&Path>) -> Result<Option<String>, TokenError> {
    let variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    match (file, variable) {
        (Some(_), Some(_)) => Err(TokenError::Two),
        (Some(path), None) => {
            let failed = |error| TokenError::Read { path: path.to_owned(), error };
            let metadata = std::fs::metadata(path).map_err(failed)?;
            let source = format!("the token file `{}`", path.display());
            if !metadata.is_file() || metadata.len() > MAX_BYTES {
                return Err(TokenError::Invalid(source));
            }
            check(&std::fs::read(path).map_err(failed)?, source).map(Some)
        }
        (None, Some(value)) => check(value.as_encoded_bytes(), format!("the variable {VARIABLE}")).map(Some),
        (None, None) => Ok(None),
    }
}

/// Returns the token without its line break.
fn check(bytes: &[u8], source: String) -> Result<String, TokenError> {
    match str::from_utf8(bytes).map(|text| text.trim_end_matches(['\r', '\n'])) {
        Ok(token) if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(token.to_owned()),
        _ => Err(TokenError::Invalid(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_one_line_of_visible_characters() {
        for text in ["abc", "abc\n", "abc\r\n", "eyJ.eyJ.x-_~+/="] {
            assert_eq!(check(text.as_bytes(), String::new()).expect(text), text.trim_end());
        }
        for text in ["", "\n", "a b", "a\nb", "\u{e9}", "a\0"] {
            assert!(check(text.as_bytes(), String::new()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn token_file_errors_name_the_file() {
        for path in ["/nowhere/token", "/"] {
            let error = read_token(Some(Path::new(path))).expect_err(path).to_string();
            assert!(error.contains(&format!("`{path}`")), "{error}");
        }
    }
}
