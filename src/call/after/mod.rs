//! Steps after the run or after a refusal.

pub(super) mod audit;
pub(super) mod deliver;
pub(super) mod landing;
pub(super) mod mask;
pub(super) mod password;
pub(super) mod picture;
pub(super) mod truncate;
