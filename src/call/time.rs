//! Time limits of a call and how messages show them.

use std::time::Duration;

/// Minimum time for the command, however much of the timeout was spent before it.
pub(super) const MIN_COMMAND_TIME: Duration = Duration::from_secs(1);

/// Time for a page to come that an act has begun to load. Its answer says if the page still loads then.
pub(super) const COMMIT_TIME: Duration = Duration::from_secs(3);

/// Time before the end of a call in which its answer is given.
pub(super) const ANSWER_TIME: Duration = Duration::from_millis(250);

/// Returns the seconds of a duration, rounded to two decimal places.
pub(super) fn rounded_seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}
