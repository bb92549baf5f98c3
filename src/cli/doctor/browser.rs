//! Checks of Chromium: the one that runs, with the control gate's way to it, its rules and its egress guard, or the programs that
//! `browser-shell serve` starts, with the packages that have them; and its age.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use clap::Args;
use serde_json::Value;

use crate::api::public_port::ViewerFiles;
use crate::cli::doctor::check::Check;
use crate::cli::serve::{NOVNC, ScreenChoice};
use browser_shell_browser::display;
use browser_shell_browser::launch::{self, missing, runs_under_rules};
use browser_shell_cdp::protocol::browser::{GetVersion, Version};
use browser_shell_cdp::{BrowserError, DebuggedBrowser};
use browser_shell_core::policy::{EgressMode, EgressRules, Isolation};
use browser_shell_egress::Status;
use browser_shell_system::config::Settings;
use browser_shell_system::confinement::KernelFeatures;
use browser_shell_system::os::exec::{check_program, find_on_path};
use browser_shell_system::os::files;
use browser_shell_system::policy_source::PolicySource;

const GATE: &str = "control gate";

const RULES: &str = "launch rules";

/// Timeout for Chromium to answer the gate.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

const GUARD: &str = "egress guard";

/// Default address of the guard.
const GUARD_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8119);

/// Folders of managed policies, by the distributions of Chromium.
const MANAGED: &[&str] = &[
    "/etc/chromium/policies/managed",
    "/etc/chromium-browser/policies/managed",
    "/etc/opt/chrome/policies/managed",
    "/etc/browser/policies/managed",
];

/// Maximum size of a file of policies, in bytes.
const MAX_POLICY: u64 = 1 << 20;

/// File of the images without a base, whose programs have no time: the date of the packages that Chromium is from.
const IMAGE_DATE: &str = "/usr/share/browser-shell/chromium-date";

/// Maximum size of that file, in bytes.
const MAX_DATE: u64 = 64;

/// Maximum age in days. A release of the images has the same limit.
const MAX_AGE: i64 = 30;

pub(super) async fn browser(port: u16) -> Check {
    match DebuggedBrowser::new(port).version().await {
        Ok(version) => {
            let check = Check::passed("browser", format!("{version} on 127.0.0.1:{port}"));
            match launch::program_of(port) {
                Some(program) => with_age(check, &program),
                None => check,
            }
        }
        Err(error @ BrowserError::Silent(_)) => Check::failed("browser", error.to_string(), "restart Chromium"),
        Err(error) => {
            let fix = format!("start Chromium with --remote-debugging-port={port}, or give its port with --cdp-port");
            Check::failed("browser", error.to_string(), fix)
        }
    }
}

/// Checks that the gate can connect to Chromium, as it does for the first session.
pub(super) async fn control_gate(port: u16, policy: &PolicySource) -> Check {
    let asking = async {
        let connection = browser_shell_cdp::over_port(port).await.map_err(|error| error.to_string())?;
        let version = connection.send(None, &GetVersion {}).await;
        connection.close();
        version.map_err(|error| error.to_string())
    };
    let answered = tokio::time::timeout(ANSWER_TIMEOUT, asking).await;
    let answered = answered.unwrap_or_else(|_| Err(format!("127.0.0.1:{port} does not answer in time")));
    // An invalid file has a check of its own.
    let isolation = policy.current().ok().and_then(|policy| policy.browser.isolation).unwrap_or(Isolation::Shared);
    gate_report(answered, port, isolation)
}

fn gate_report(answered: Result<Version, String>, port: u16, isolation: Isolation) -> Check {
    let version = match answered {
        Ok(version) => version,
        Err(error) => {
            let found = format!("no session gets tabs: {error}");
            let fix = format!("start Chromium with --remote-debugging-port={port}, or give its port with --cdp-port");
            return Check::failed(GATE, found, fix);
        }
    };
    let Version { product, protocol_version: protocol, .. } = version;
    let sessions = match isolation {
        Isolation::Session => "each session has tabs and cookies of its own",
        Isolation::Shared => "all sessions have the same tabs and cookies",
    };
    let found = format!("connects to {product}, protocol {protocol}, on 127.0.0.1:{port}; {sessions}");
    Check::passed(GATE, found)
}

/// Checks the rules that the Chromium of this machine runs under.
pub(super) fn launch_rules(settings: &Settings) -> Check {
    rules_report(KernelFeatures::detect(), runs_under_rules(settings.cdp_port), settings.cdp_port)
}

fn rules_report(kernel: KernelFeatures, has_rules: Option<bool>, port: u16) -> Check {
    let lacks = missing(kernel).join("; no ");
    let landlock = match kernel.landlock {
        0 => "no Landlock".to_owned(),
        version => format!("Landlock ABI {version}"),
    };
    let filter = if kernel.seccomp { "seccomp" } else { "no seccomp" };
    let has = format!("this kernel has {landlock} and {filter}");
    match has_rules {
        Some(true) if lacks.is_empty() => {
            Check::passed(RULES, format!("Chromium runs with rules for files, ports and system calls; {has}"))
        }
        Some(true) => Check::warned(
            RULES,
            format!("Chromium runs with the rules that the kernel has; {has}; no {lacks}"),
            "use Linux 6.7 or newer with Landlock and seccomp",
        ),
        Some(false) => Check::warned(
            RULES,
            format!("Chromium runs without them: it may use all files of its user; {has}"),
            "in the image, start Chromium by the program that /opt/browser-shell/browser put in its place; \
             `browser-shell runtime` starts its own with rules",
        ),
        None => Check::warned(
            RULES,
            format!("no process with --remote-debugging-port={port} is visible; {has}"),
            "start Chromium, and run this in its container",
        ),
    }
}

/// Returns the flags of Chromium that send every connection to the guard at `address`.
fn proxy_flags(address: SocketAddr) -> [String; 2] {
    [format!("--proxy-server=http://{address}"), "--proxy-bypass-list=<-loopback>".to_owned()]
}

/// Returns the reason why the operator expects a guard: its address was given, or the policy file has rules for it.
fn expectation(address: Option<SocketAddr>, policy: &PolicySource) -> Option<&'static str> {
    if address.is_some() {
        return Some("its address is set");
    }
    let policy = policy.current().ok()?;
    (policy.egress != EgressRules::default()).then_some("the policy file has rules for it in `egress`")
}

/// Checks the guard and the browser's flags. A proxy in the browser's managed policy is not visible here.
pub(super) async fn egress_guard(address: Option<SocketAddr>, cdp_port: u16, policy: &PolicySource) -> Check {
    let expectation = expectation(address, policy);
    let address = address.unwrap_or(GUARD_ADDRESS);
    let flags = DebuggedBrowser::new(cdp_port).flags().await.ok();
    let is_used = flags.map(|flags| proxy_flags(address).iter().all(|flag| flags.contains(flag.as_str())));
    let status = browser_shell_egress::query_status(address).await;
    guard_report(status, is_used, address, expectation, policy.path())
}

/// Returns the check for a state of the guard.
///
/// A guard that runs in the mode `off`, or that the browser may not use, is a warning. So is a missing one, unless it is
/// expected: then it is an error, because pages can connect where the operator forbade it.
fn guard_report(
    status: Status,
    is_used: Option<bool>,
    address: SocketAddr,
    expectation: Option<&str>,
    policy: &Path,
) -> Check {
    match (status, is_used) {
        (Status::Running(mode), Some(true)) if mode == EgressMode::Off.as_str() => Check::warned(
            GUARD,
            format!("{mode}, on {address}; pages can connect to every address except loopback and 0.0.0.0/8"),
            "set egress.mode in the policy file to `public` or `allowlist`",
        ),
        (Status::Running(mode), Some(true)) => {
            Check::passed(GUARD, format!("{mode}, on {address}; the browser was started with it"))
        }
        (Status::Running(mode), None) => Check::warned(
            GUARD,
            format!("{mode}, on {address}; the browser does not say whether it uses the guard"),
            "start the browser, then run this again",
        ),
        (Status::Running(mode), Some(false)) => Check::failed(
            GUARD,
            format!("{mode}, on {address}, but the browser was not started with it"),
            format!(
                "start Chromium with --proxy-server=http://{address} '--proxy-bypass-list=<-loopback>' \
                 --webrtc-ip-handling-policy=disable_non_proxied_udp \
                 '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {}' --disable-features=WebRtcHideLocalIpsWithMdns",
                address.ip()
            ),
        ),
        (Status::PolicyInvalid, _) => Check::failed(
            GUARD,
            format!("on {address}, every connection is refused because the policy file is missing or invalid"),
            format!("run `browser-shell policy check {}` and correct the file", policy.display()),
        ),
        (Status::Absent, Some(true)) => Check::failed(
            GUARD,
            format!("nothing answers on {address}, so the browser cannot connect to anything"),
            "start `browser-shell egress`",
        ),
        (Status::Absent, _) => {
            let found =
                format!("off: no guard on {address}, so pages can connect to everything that the browser can reach");
            let fix = "start `browser-shell egress`, and Chromium with the flags of `browser-shell egress --help`";
            match expectation {
                Some(reason) => Check::failed(GUARD, format!("{found}; it is expected, since {reason}"), fix),
                None => Check::warned(GUARD, found, fix),
            }
        }
    }
}

/// Programs and files of a server that starts its own Chromium.
#[derive(Args, Debug)]
pub(super) struct ServerPrograms {
    /// Chromium of --serve and --browser [default: found on PATH]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_CHROMIUM")]
    chromium: Option<PathBuf>,

    /// Xvnc of --serve [default: found on PATH]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_XVNC")]
    xvnc: Option<PathBuf>,

    /// Folder of noVNC, the viewer, of --serve
    #[arg(long, value_name = "DIR", env = "BROWSER_SHELL_NOVNC", default_value = NOVNC)]
    novnc: PathBuf,
}

/// Checks everything that the server needs besides agent-browser, with this screen.
pub(super) fn programs_of_serve(screen: ScreenChoice, programs: &ServerPrograms) -> Vec<Check> {
    let chromium = chromium(programs.chromium.as_deref());
    match screen {
        ScreenChoice::Xvnc => {
            vec![chromium, managed_policy(MANAGED), xvnc(programs.xvnc.as_deref()), keymaps(), novnc(&programs.novnc)]
        }
        ScreenChoice::Cast => vec![chromium, novnc(&programs.novnc)],
        ScreenChoice::None => vec![chromium],
    }
}

/// Returns the program that a server would start: the one that is named, or the one that was found.
///
/// # Errors
///
/// The state to report.
fn startable(named: Option<&Path>, found: Option<PathBuf>) -> Result<PathBuf, String> {
    match (named, found) {
        (Some(_), Some(path)) if check_program(&path).is_ok() => Ok(path),
        (Some(named), _) => Err(format!("{} is no program that this user can start", named.display())),
        (None, Some(path)) => Ok(path),
        (None, None) => Err("not on PATH".to_owned()),
    }
}

fn chromium(named: Option<&Path>) -> Check {
    match startable(named, launch::find(named)) {
        Ok(path) => with_age(Check::passed("chromium", path.display().to_string()), &path),
        Err(found) => {
            Check::failed("chromium", found, "install the package chromium, or give its path with --chromium")
        }
    }
}

/// Checks that Chromium finds a policy that closes addresses. People at a display have its menus.
fn managed_policy(folders: &[&str]) -> Check {
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let has_list = |path: &Path| {
        let policy = files::read(path, MAX_POLICY).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        policy.is_some_and(|policy| policy.get("URLBlocklist").is_some())
    };
    match files.map(|file| file.path()).find(|path| has_list(path)) {
        Some(path) => Check::passed("managed policy", path.display().to_string()),
        None => Check::warned(
            "managed policy",
            "none closes addresses. Settings of the profile keep people at the screen from pages of Chromium, developer tools and file \
             dialogs, but not from what else its menus offer",
            "as root, copy `zz-browser-shell.json` of a release to /etc/chromium/policies/managed/",
        ),
    }
}

fn xvnc(named: Option<&Path>) -> Check {
    match startable(named, display::find(named)) {
        Ok(path) => Check::passed("xvnc", path.display().to_string()),
        Err(found) => {
            let fix = "install the package tigervnc-standalone-server, or give its path with --xvnc, or serve with `--screen cast` or \
                 `--screen none`";
            Check::failed("xvnc", found, fix)
        }
    }
}

/// Checks the program by which Xvnc makes its keymap when it starts.
fn keymaps() -> Check {
    if let Some(path) = find_on_path("xkbcomp") {
        return Check::passed("xkbcomp", path.display().to_string());
    }
    let fix = "install the package x11-xkb-utils, or serve with `--screen cast` or `--screen none`";
    Check::failed("xkbcomp", "not on PATH", fix)
}

fn novnc(folder: &Path) -> Check {
    match ViewerFiles::read(folder) {
        Ok(_) => Check::passed("novnc", folder.display().to_string()),
        Err(error) => {
            let fix = "install the package novnc, or give its folder with --novnc, or serve with `--screen none`";
            Check::failed("novnc", error.to_string(), fix)
        }
    }
}

/// Adds the age of Chromium's program to a check that passed, and warns if it is old. Without a date, the check is returned as it is.
fn with_age(check: Check, program: &Path) -> Check {
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
    let text = files::read(image, MAX_DATE).ok()?;
    std::str::from_utf8(&text).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;
    use crate::cli::doctor::check::Severity;

    #[test]
    fn gate_that_cannot_connect_is_bad() {
        let member = |text: &str| text.to_owned();
        let version = Version {
            protocol_version: member("1.3"),
            product: member("Chrome/150.0"),
            revision: String::new(),
            user_agent: String::new(),
            js_version: String::new(),
        };
        let found = gate_report(Ok(version), 9223, Isolation::Session);
        assert_eq!(found.level, Severity::Ok);
        insta::assert_snapshot!(found.found, @"connects to Chrome/150.0, protocol 1.3, on 127.0.0.1:9223; each session has tabs and cookies of its own");
        let found = gate_report(Err("127.0.0.1:9223 does not answer".to_owned()), 9223, Isolation::Shared);
        assert_eq!(found.level, Severity::Bad);
        assert!(found.fix.is_some_and(|fix| fix.contains("--remote-debugging-port=9223")));
    }

    #[test]
    fn chromium_without_all_launch_rules_is_a_warning() {
        let whole = KernelFeatures { landlock: 6, seccomp: true };
        for (kernel, has_rules, level) in [
            (whole, Some(true), Severity::Ok),
            (whole, Some(false), Severity::Warn),
            (whole, None, Severity::Warn),
            (KernelFeatures { landlock: 3, seccomp: true }, Some(true), Severity::Warn),
            (KernelFeatures { landlock: 0, seccomp: false }, Some(true), Severity::Warn),
        ] {
            assert_eq!(rules_report(kernel, has_rules, 9222).level, level, "{kernel:?} {has_rules:?}");
        }
        let found = rules_report(KernelFeatures { landlock: 3, seccomp: true }, Some(true), 9222).found;
        assert!(found.contains("Landlock ABI 3") && found.contains("no rules for TCP"), "{found}");
    }

    #[test]
    fn only_a_guard_in_use_and_in_force_is_ok() {
        let level = |status: Status, is_used, expectation| {
            guard_report(status, is_used, GUARD_ADDRESS, expectation, Path::new("p.json")).level
        };
        let running = |mode: &str| Status::Running(mode.to_owned());
        for (status, is_used, expectation, expected) in [
            (running("public"), Some(true), None, Severity::Ok),
            (running("allowlist"), Some(true), Some("set"), Severity::Ok),
            (running("off"), Some(true), None, Severity::Warn),
            (running("public"), None, None, Severity::Warn),
            (running("public"), Some(false), None, Severity::Bad),
            (Status::PolicyInvalid, Some(true), None, Severity::Bad),
            (Status::Absent, Some(true), None, Severity::Bad),
            (Status::Absent, Some(false), None, Severity::Warn),
            (Status::Absent, None, None, Severity::Warn),
            (Status::Absent, Some(false), Some("set"), Severity::Bad),
            (Status::Absent, None, Some("set"), Severity::Bad),
        ] {
            assert_eq!(level(status.clone(), is_used, expectation), expected, "{status:?} {is_used:?} {expectation:?}");
        }
    }

    #[test]
    fn default_address_is_that_of_the_guard() {
        assert_eq!(GUARD_ADDRESS.to_string(), browser_shell_egress::DEFAULT_ADDRESS);
    }

    #[test]
    fn missing_managed_policy_is_a_warning() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let folders = ["/nonexistent", folder.path().to_str().expect("text")];
        fs::write(folder.path().join("other.json"), r#"{ "ShowHomeButton": true }"#).expect("written");
        assert_eq!(managed_policy(&folders).level, Severity::Warn);
        fs::write(folder.path().join("zz.json"), r#"{ "URLBlocklist": ["*"] }"#).expect("written");
        assert_eq!(managed_policy(&folders).level, Severity::Ok, "control");
    }

    #[test]
    fn named_program_must_be_one_that_can_start() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for (name, mode) in [("program", 0o755), ("text", 0o644)] {
            fs::write(at(name), "").expect("written");
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).expect("changed");
        }
        for (name, level) in
            [("program", Severity::Ok), ("text", Severity::Bad), ("missing", Severity::Bad), ("", Severity::Bad)]
        {
            let path = at(name);
            for check in [chromium(Some(&path)), xvnc(Some(&path))] {
                assert_eq!(check.level, level, "{check:?}");
                assert!(check.found.contains(&path.display().to_string()), "{check:?}");
            }
        }
    }

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
