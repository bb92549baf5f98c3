//! Age of Chromium, by the date of its program.

use std::fs;
use std::path::Path;

use chrono::{DateTime, Datelike, NaiveDate, Utc};

use crate::cli::doctor::check::Check;
use browser_shell_system::os::text_file;

/// File of the images without a base, whose programs have no time: the date of the packages that Chromium is from.
const IMAGE_DATE: &str = "/usr/share/browser-shell/chromium-date";

/// Maximum size of that file, in bytes.
const MAX_DATE: u64 = 64;

/// Maximum age in days. A release of the images has the same limit.
const MAX_AGE: i64 = 30;

/// Adds the age of Chromium's program to a check that passed, and warns if it is old. Without a date, the check is returned as it is.
pub(super) fn with_age(check: Check, program: &Path) -> Check {
    match date_of(program, Path::new(IMAGE_DATE)) {
        Some(date) => with_age_of(&check, date, Utc::now().date_naive()),
        None => check,
    }
}

fn with_age_of(check: &Check, date: NaiveDate, today: NaiveDate) -> Check {
    let days = today.signed_duration_since(date).num_days();
    let found = format!("{}; {days} days old, of {date}", check.found);
    if days <= MAX_AGE {
        Check::passed(check.name, found)
    } else {
        let fix = "install a newer Chromium, or a newer image: most releases of Chromium fix security holes";
        Check::warned(check.name, found, fix)
    }
}

/// Returns the day on which a program was built, which packages keep as its time. Nix does not: its files have the first second of
/// 1970, and an image the file of a date.
fn date_of(program: &Path, image: &Path) -> Option<NaiveDate> {
    let modified = DateTime::<Utc>::from(fs::metadata(program).ok()?.modified().ok()?).date_naive();
    if modified.year() > 1970 {
        return Some(modified);
    }
    let text = text_file::read(image, MAX_DATE).ok()?;
    std::str::from_utf8(&text).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::cli::doctor::check::Severity;

    fn day(text: &str) -> NaiveDate {
        text.parse().expect("a date")
    }

    #[test]
    fn chromium_of_more_than_thirty_days_is_a_warning() {
        let (chromium, today) = (Check::passed("chromium", "/usr/bin/chromium"), day("2026-10-01"));
        for (date, level) in
            [("2026-10-01", Severity::Ok), ("2026-09-01", Severity::Ok), ("2026-08-31", Severity::Warn)]
        {
            let check = with_age_of(&chromium, day(date), today);
            assert_eq!(check.level, level, "{date}");
            assert_eq!(check.fix.is_some(), level == Severity::Warn, "{date}");
        }
        let found = with_age_of(&chromium, day("2026-08-31"), today).found;
        insta::assert_snapshot!(found, @"/usr/bin/chromium; 31 days old, of 2026-08-31");
    }

    #[test]
    fn date_is_that_of_the_program_or_of_the_image() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let (program, image) = (folder.path().join("chromium"), folder.path().join("date"));
        let built_at = |seconds| {
            let file = fs::File::create(&program).expect("a file");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("a time");
        };
        assert_eq!(date_of(&program, &image), None, "no program");
        built_at(1);
        assert_eq!(date_of(&program, &image), None, "no date");
        fs::write(&image, "2026-08-20\n").expect("written");
        assert_eq!(date_of(&program, &image), Some(day("2026-08-20")));
        built_at(1_788_220_800);
        assert_eq!(date_of(&program, &image), Some(day("2026-09-01")), "the image has another Chromium");
        built_at(1);
        fs::write(&image, "yesterday").expect("written");
        assert_eq!(date_of(&program, &image), None, "an invalid date");
    }
}
