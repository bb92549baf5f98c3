//! Steps after the run or after a refusal.

pub(super) mod audit;
pub(super) mod deliver;
pub(super) mod landing;
pub(super) mod mask;
pub(super) mod notices;
pub(super) mod picture;
pub(super) mod secrets;
pub(super) mod truncate;
