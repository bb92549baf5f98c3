//! The backend `srt`: the sandbox runtime from npm around the session's resident.
//!
//! Decides what the runtime is told: its settings file, its command line and its environment. It gives the resident a view of
//! files that holds the plan's and no others, processes of its own, and a network of its own with the runtime's proxies for
//! the domains of the policy. Must never let the runtime begin with settings of its own.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::backends::{Machine, add_to_reads, missing_inside, near, try_namespaces};
use super::kernel::Enforcement;
use super::outside::{Orders, Start};
use super::parts::needs;
use super::plan::Plan;
use super::policy::SandboxPolicy;
use super::resident;
use crate::places::SessionPlaces;
use crate::transport::{child_path, find_on_path};

/// Where the runtime's proxies are inside, HTTP and SOCKS.
const PROXY_PORTS: [u16; 2] = [3128, 1080];

/// What the runtime has bubblewrap make.
const NAMESPACES: &[&str] = &["--unshare-user", "--unshare-pid", "--unshare-net", "--cap-drop", "ALL"];

/// What the runtime needs of the machine, with Debian's packages.
const NEEDS: &[(&str, &str)] =
    &[("bwrap", "bubblewrap"), ("socat", "socat"), ("rg", "ripgrep"), ("bash", "bash"), ("node", "nodejs")];

/// The programs of a machine with which the runtime works.
#[derive(Debug)]
struct Found {
    srt: PathBuf,
    bwrap: PathBuf,
    socat: PathBuf,
    rg: PathBuf,
    bash: PathBuf,
}

fn find(policy: &SandboxPolicy) -> Result<Found, String> {
    let srt = match &policy.backends.srt_program {
        Some(path) if path.is_file() => path.clone(),
        Some(path) => return Err(format!("there is no `{}`", path.display())),
        None => {
            find_on_path("srt").ok_or("`srt` is not on PATH: npm install --global @anthropic-ai/sandbox-runtime")?
        }
    };
    let found = |name: &str| match (name, &policy.backends.bubblewrap.program) {
        ("bwrap", Some(path)) => Some(path.clone()),
        _ => find_on_path(name),
    };
    let missing: Vec<_> = NEEDS.iter().filter(|(name, _)| found(name).is_none()).collect();
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|(name, package)| format!("`{name}` (package {package})")).collect();
        return Err(format!("`{}` needs {} on PATH", srt.display(), names.join(", ")));
    }
    let path = |name: &str| found(name).unwrap_or_default();
    Ok(Found { srt, bwrap: path("bwrap"), socat: path("socat"), rg: path("rg"), bash: path("bash") })
}

/// Whether the runtime could work here.
pub(super) async fn probe(machine: &Machine, policy: &SandboxPolicy, plan: &Plan) -> Result<Enforcement, String> {
    let found = find(policy)?;
    // As the runtime does it, and without the second that Node takes for it.
    try_namespaces(&found.bwrap, NAMESPACES, machine).await?;
    if let Some(path) = plan.write.iter().chain(&plan.sockets).find(|path| path.starts_with("/dev")) {
        return Err(format!(
            "it shows nothing below /dev inside, and `{}` lies there: choose another folder with --runtime-dir and --workspace",
            path.display()
        ));
    }
    if let Some(port) = plan.connect.iter().find(|port| PROXY_PORTS.contains(port) || **port < 1024) {
        return Err(format!(
            "the browser's port {port} cannot be had inside: choose one from 1024 on, and not the runtime's own 1080 and 3128"
        ));
    }
    Ok(Enforcement::without(missing_inside(machine.kernel)))
}

/// What stands outside, and the settings file that the runtime reads, written.
pub(super) fn orders(
    machine: &Machine,
    policy: &SandboxPolicy,
    plan: &Plan,
    places: &SessionPlaces,
) -> io::Result<Orders> {
    let found = find(policy).map_err(io::Error::other)?;
    let folder = places.outside();
    let file = folder.join("settings.json");
    fs::write(&file, settings(machine, policy, plan, &found, &folder).to_string())?;
    let inside = serde_json::to_string(&resident_orders(machine, policy, plan, places))?;
    let text = |path: &OsStr| path.to_string_lossy().into_owned();
    Ok(Orders {
        sockets: places.sockets.clone(),
        port: plan.port(),
        start: Start::Program {
            line: vec![
                text(found.srt.as_os_str()),
                "--settings".to_owned(),
                text(file.as_os_str()),
                "--".to_owned(),
                text(machine.own.as_os_str()),
                resident::SUBCOMMAND.to_owned(),
                inside,
            ],
            environment: vec![
                ("PATH".to_owned(), text(&child_path())),
                // Not the session's own folders, which are written to from inside; and sockets need shorter names.
                ("HOME".to_owned(), text(folder.as_os_str())),
                ("TMPDIR".to_owned(), text(folder.as_os_str())),
                // Its proxies listen on 127.0.0.1, and its relay asks for `localhost`, of which it tries one address.
                ("SOCAT_PREFERRED_RESOLVE_IP".to_owned(), "4".to_owned()),
            ],
            directory: places.cwd(),
        },
    })
}

/// What the resident is told.
fn resident_orders(machine: &Machine, policy: &SandboxPolicy, plan: &Plan, places: &SessionPlaces) -> resident::Orders {
    let mut orders = resident::Orders::new(machine, plan, places);
    orders.proxies = !policy.network.allowed_domains.is_empty();
    if orders.proxies {
        orders.confine.plan.connect.extend(PROXY_PORTS);
    }
    orders
}

/// The runtime's settings file.
fn settings(machine: &Machine, policy: &SandboxPolicy, plan: &Plan, found: &Found, outside: &Path) -> Value {
    let mut read = Vec::new();
    let needs = [&machine.needs, &needs(&found.bash), &needs(&found.socat)];
    let programs = [&machine.own, &found.bash, &found.socat];
    for path in plan.read.iter().chain(&plan.execute).chain(needs.into_iter().flatten()).chain(programs) {
        add_to_reads(&mut read, path);
    }
    // What is written can be read, where it is not denied.
    for path in plan.write.iter().chain(&plan.sockets) {
        add_to_reads(&mut read, path);
    }
    if !policy.network.allowed_domains.is_empty() {
        // The way to its proxies is a socket of its own there, which it would cover with the rest; they ask for a password.
        add_to_reads(&mut read, outside);
    }
    let mut denied = vec![PathBuf::from("/")];
    denied.extend(plan.hidden.iter().cloned());
    let written: Vec<&PathBuf> = plan.write.iter().chain(&plan.sockets).filter(|path| near(path)).collect();
    json!({
        "network": {
            "allowedDomains": policy.network.allowed_domains,
            "deniedDomains": policy.network.denied_domains,
            "strictAllowlist": true,
            // The resident and agent-browser's daemon listen on some; which ones can be reached is said by the view of files.
            "allowAllUnixSockets": true,
            "allowLocalBinding": policy.network.allow_local_binding,
        },
        "filesystem": {
            "denyRead": denied,
            "allowRead": read,
            "allowWrite": written,
            "denyWrite": plan.fixed,
        },
        "ripgrep": { "command": found.rg },
        "bwrapPath": found.bwrap,
        "socatPath": found.socat,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::file::parse;

    fn machine() -> Machine {
        Machine::with(6, "/bin/sh")
    }

    fn found() -> Found {
        Found {
            srt: "/srt".into(),
            bwrap: "/bwrap".into(),
            socat: "/proc/socat".into(),
            rg: "/rg".into(),
            bash: "/proc/bash".into(),
        }
    }

    #[test]
    fn spec_5_2_srt_is_told_of_the_plan_the_domains_and_nothing_else() {
        let policy = parse(
            r#"{"sandbox":{"backend":"srt","network":{"allowedDomains":["a.example","*.b.example"],"deniedDomains":["x.b.example"]}}}"#,
        )
        .expect("valid")
        .sandbox;
        let plan = Plan {
            read: vec!["/proc/meminfo".into()],
            write: vec!["/tmp".into(), "/nowhere".into()],
            hidden: vec!["/tmp/hidden".into()],
            fixed: vec!["/tmp/fixed".into()],
            connect: vec![9222],
            ..Plan::default()
        };
        let own = Machine { own: "/nowhere/own".into(), ..machine() };
        let told = settings(&own, &policy, &plan, &found(), Path::new("/proc"));
        insta::assert_snapshot!(serde_json::to_string_pretty(&told).expect("JSON"));
        let places = SessionPlaces {
            key: "s".to_owned(),
            sockets: "/run/b/s/0123".into(),
            private: "/run/b/k/s".into(),
            files: "/workspace/s".into(),
        };
        let inside = resident_orders(&own, &policy, &plan, &places);
        assert_eq!(inside.confine.plan.connect, [9222, 3128, 1080]);
        assert!(inside.proxies);
        let without = resident_orders(&own, &SandboxPolicy::default(), &plan, &places);
        assert_eq!(without.confine.plan.connect, [9222], "without domains there is no way to the proxies");
        assert!(!without.proxies);
    }

    #[tokio::test]
    async fn what_is_missing_is_said() {
        let policy = parse(r#"{"sandbox":{"backends":{"srt":{"program":"/nowhere/srt"}}}}"#).expect("valid").sandbox;
        let error = probe(&machine(), &policy, &Plan::default()).await.expect_err("refused");
        assert!(error.contains("there is no `/nowhere/srt`"), "{error}");
    }
}
