//! Steps before the run.

pub(super) mod check_url;
pub(super) mod ensure_browser;
pub(super) mod file_path;
pub(super) mod validate;
