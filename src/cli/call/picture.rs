//! The picture of a screenshot, as a file of the caller.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::cli::call::arguments::CallArguments;
use crate::cli::error::CliError;
use crate::cli::output::{print_error, print_text};

/// Reason why a picture is not in the file of `--save`.
#[derive(Debug, Error)]
pub(super) enum PictureError {
    #[error("cannot write the picture to `{}`: {error}; choose another file with --save", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("the reply has no picture, so `{}` was not written; use --save with `screenshot`", .0.display())]
    Absent(PathBuf),
}

impl From<PictureError> for CliError {
    fn from(error: PictureError) -> Self {
        Self::Command(Box::new(error))
    }
}

/// Writes the picture to the file of `--save`, and says where a server's picture is, or that it is not saved.
pub(super) fn save_picture(png: Option<&[u8]>, options: &CallArguments) -> Result<(), CliError> {
    match (&options.save, png) {
        (Some(path), Some(png)) => {
            std::fs::write(path, png).map_err(|error| PictureError::Write { path: path.clone(), error })?;
            if options.server.is_some() && !options.json {
                print_text(&format!("path: {}", path.display()))?;
            }
        }
        (Some(path), None) => return Err(PictureError::Absent(path.clone()).into()),
        // A local call leaves it in the workspace, at the path that the reply names.
        (None, Some(png)) if options.server.is_some() => {
            print_error(&format!("the picture ({} bytes) was not saved; add --save FILE", png.len()))?;
        }
        (None, _) => {}
    }
    Ok(())
}
