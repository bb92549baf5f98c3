//! Notes about settings that are valid and do less, or something else, than their name suggests.
//!
//! Among these are allowed hosts that serve pages of other sites under names of their own. The policy decides by the host of a request.
//! Where that host fetches any page that its address names, an entry for it allows every site, and its egress is not this server's. The
//! list is short and made by hand, from what the operators document; it is for warnings, and no decision depends on it.

use std::iter;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::browser::Isolation;
use super::evaluate::Section;
use super::rules::{EgressMode, Engine, HostSet, OpenRules, Policy, Subresources};
use super::sandbox::{BackendName, FileRule, SandboxPolicy};
use crate::grammar::{Form, GRAMMAR};

impl Policy {
    /// Returns a note for each rule that is probably not intended.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.egress_notes();
        for (position, port) in self.egress.allow_ports.iter().enumerate() {
            let reason = if self.denied_port_location(*port).is_some() {
                "open.deny_ports refuses it"
            } else if *port >= 1024 || matches!(port, 80 | 443) {
                "it is allowed without this entry"
            } else {
                continue;
            };
            notes.push(format!("egress.allow_ports[{position}] has no effect: {port}, {reason}"));
        }
        if self.sandbox.is_off() {
            notes.push("the sandbox is off: agent-browser has all rights of the server's user".to_owned());
        }
        if !self.allows_scheme("http").0 && !self.allows_scheme("https").0 {
            notes.push("open.allow_schemes is empty: agents cannot open any page".to_owned());
        }
        if let Some(engine) = self.engine.filter(|_| self.has_old_engine_field) {
            notes.push(format!("snapshot.engine is the older name of engine; write \"engine\": \"{engine}\" instead"));
        }
        notes.extend(self.relay_notes());
        notes.extend(self.block_notes());
        notes.extend(self.engine_notes());
        notes.extend(self.state_note().map(str::to_owned));
        notes.extend(self.sandbox.notes());
        notes
    }

    /// Returns the notes for allowed hosts that serve pages of other sites.
    fn relay_notes(&self) -> Vec<String> {
        let sections = self.sessions.iter().enumerate();
        let sections = sections.map(|(position, rules)| (Section::Session(position), &rules.open));
        let all = iter::once((Section::Top, &*self.open)).chain(sections);
        let mut notes: Vec<_> = all
            .flat_map(|(section, open)| {
                let found: Vec<_> = allowed_relays(open, &[&*self.open, open]).collect();
                found.into_iter().map(move |(field, position, relay)| {
                    let Relay { host, kind, source } = relay;
                    let entry = section.item(field, position);
                    format!(
                        "{entry} allows every site: `{host}` serves pages of others ({kind}, see {source}); \
                         leave it out, or deny `{host}` and `.{host}`"
                    )
                })
            })
            .collect();
        notes.sort();
        notes
    }

    /// Returns the notes for allowed blocks with addresses that hardly anybody means.
    fn block_notes(&self) -> Vec<String> {
        let sections = self.sessions.iter().enumerate();
        let sections = sections.map(|(position, rules)| (Section::Session(position), &rules.open));
        let all = iter::once((Section::Top, &*self.open)).chain(sections);
        let blocks = all.flat_map(|(section, open)| {
            let blocks = open.allow_cidrs.iter().flatten().enumerate();
            blocks.map(move |(position, block)| (section.item("allow_cidrs", position), block))
        });
        let note = |(entry, block): (String, &IpNet)| {
            let reason = if LINK_LOCAL.iter().any(|local| local.contains(block) || block.contains(local)) {
                "link-local addresses, and clouds give credentials to whoever reaches 169.254.169.254"
            } else if LOOPBACK.iter().any(|local| block != local && block.contains(local)) {
                "this machine's own addresses, at which its services trust their clients"
            } else {
                return None;
            };
            Some(format!("{entry}: `{block}` has {reason}; write smaller blocks"))
        };
        blocks.filter_map(note).collect()
    }

    /// Returns the notes for enabled subcommands and forms that an engine of the file lacks.
    fn engine_notes(&self) -> Vec<String> {
        let is_of_cdp = |name: &str| {
            let mut forms = GRAMMAR.iter().flat_map(|row| {
                let is_row = row.name == name;
                row.forms.iter().filter(move |form| form.needs.map_or(is_row, |needs| needs == name))
            });
            forms.all(Form::is_of_cdp)
        };
        let names: Vec<_> = self.enabled_subcommands.iter().filter(|name| is_of_cdp(name)).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let sections = self.sessions.iter().enumerate();
        let sections = sections.map(|(position, rules)| (format!("sessions[{position}].engine"), rules.engine));
        let all = iter::once(("engine".to_owned(), self.engine)).chain(sections);
        let theirs = all.filter(|(_, engine)| *engine == Some(Engine::AgentBrowser));
        theirs
            .map(|(place, _)| format!("{place}: agent-browser lacks {list} of subcommands.enable; `cdp` has them"))
            .collect()
    }

    /// Returns the note for states that no context begins with: sessions without one of their own get none.
    fn state_note(&self) -> Option<&'static str> {
        if self.browser.state.is_empty() {
            return None;
        }
        match self.browser.isolation {
            Some(Isolation::Session) => None,
            Some(Isolation::Shared) => {
                Some("browser.state has no effect: browser.isolation is `shared`; set it to `session`")
            }
            None => Some(
                "browser.state has an effect in `serve`, `mcp --browser` and the runtime's mode `shared` only: elsewhere the isolation \
                 is `shared` without browser.isolation; set it to `session`",
            ),
        }
    }

    fn egress_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.egress.mode == EgressMode::Off {
            notes.push("egress.mode is `off`: pages can reach every address except loopback and 0.0.0.0/8".to_owned());
        }
        let has_no_list = !self.has_allow_list();
        if self.egress.mode == EgressMode::Allowlist && has_no_list {
            notes.push("egress.mode is `allowlist` without an allow list, which means the same as `public`".to_owned());
        }
        if matches!(self.egress.subresources, Subresources::Listed(_)) {
            let reason = match self.egress.mode {
                EgressMode::Off => "egress.mode is `off`",
                EgressMode::Allowlist => "egress.mode `allowlist` allows the hosts of `open` only",
                EgressMode::Public if has_no_list => "every host may be opened, because `open` has no allow list",
                EgressMode::Public => return notes,
            };
            notes.push(format!("egress.subresources has no effect: {reason}"));
        }
        notes
    }
}

impl SandboxPolicy {
    /// Returns a note for each setting that this program does not apply as it is written. Each begins with the setting's path.
    ///
    /// They depend on the policy alone. The enforcement on a machine is a matter of its backends.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (name, rules) in [("denyRead", &self.filesystem.deny_read), ("denyWrite", &self.filesystem.deny_write)] {
            let patterns: Vec<_> = rules.iter().filter_map(FileRule::pattern).collect();
            if !patterns.is_empty() {
                let list =
                    patterns.iter().map(|pattern| format!("`{}`", pattern.as_str())).collect::<Vec<_>>().join(", ");
                notes.push(format!(
                    "sandbox.filesystem.{name}: bubblewrap, srt and docker apply {list} to the files that exist when a program starts; landlock cannot apply it; `browser-shell doctor` reports what is missing on a machine"
                ));
            }
        }
        if !(self.network.allowed_domains.is_empty() && self.network.denied_domains.is_empty()) {
            let scope = if self.backend == Some(BackendName::Srt) {
                "are for agent-browser itself, by srt's proxies"
            } else {
                "have no effect: agent-browser itself reaches the browser and no domain"
            };
            notes.push(format!("sandbox.network: the domains {scope}; `open` and `egress` decide about pages"));
        }
        if self.backends.srt_settings.is_some() && self.backend != Some(BackendName::Srt) {
            notes.push("sandbox.backends.srt.settingsPath: has no effect unless `sandbox.backend` is `srt`".to_owned());
        }
        if let Some(network) = self.backends.docker_network.as_deref().filter(|network| *network != "none") {
            notes.push(format!(
                "sandbox.backends.docker.networkMode: `{network}` has no effect; the container has no network, and agent-browser reaches only the browser's port"
            ));
        }
        notes
    }
}

/// Addresses of a network without a router (RFC 3927, RFC 4291).
const LINK_LOCAL: [IpNet; 2] = [
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10)),
];

/// Addresses of the machine itself.
const LOOPBACK: [IpNet; 2] = [
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128)),
];

/// Host that serves pages of other sites, by itself and by the names below it.
struct Relay {
    host: &'static str,
    kind: &'static str,
    /// Page of the operator that says so.
    source: &'static str,
}

const fn relay(host: &'static str, kind: &'static str, source: &'static str) -> Relay {
    Relay { host, kind, source }
}

/// Hosts that serve pages of other sites.
const RELAYS: &[Relay] = &[
    relay("translate.google.com", "translator", "translate.google.com/?op=websites"),
    relay("translate.goog", "translator", "translate.google.com/?op=websites"),
    relay("translatetheweb.com", "translator", "www.bing.com/translator"),
    relay("translate.yandex.com", "translator", "translate.yandex.com/en/translate"),
    relay("turbopages.org", "translator", "yandex.com/support/translate"),
    relay("webcache.googleusercontent.com", "cache", "developers.google.com/search/docs"),
    relay("cdn.ampproject.org", "AMP cache", "cdn.ampproject.org/caches.json"),
    relay("bing-amp.com", "AMP cache", "cdn.ampproject.org/caches.json"),
    relay("web.archive.org", "archive", "web.archive.org"),
    relay("archive.today", "archive", "archive.today/faq"),
    relay("archive.ph", "archive", "archive.today/faq"),
    relay("archive.is", "archive", "archive.today/faq"),
    relay("r.jina.ai", "reader", "jina.ai/reader"),
];

impl Relay {
    /// Returns true if the host is this one, or below it.
    fn has(&self, host: &str) -> bool {
        host.strip_suffix(self.host).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    /// Returns true if deny lists refuse the host and all names below it.
    fn is_denied(&self, open: &OpenRules) -> bool {
        let below = format!("x.{}", self.host);
        let is_denied = |host: &str| open.deny_host_suffixes.suffix_position(host).is_some();
        is_denied(&below) && (is_denied(self.host) || open.deny_hosts.position(self.host).is_some())
    }
}

/// Returns the relays that the allow lists of a section allow and none of `denied` refuses: the field, the position of the entry in it,
/// and the relay.
fn allowed_relays<'a>(
    open: &'a OpenRules,
    denied: &'a [&OpenRules],
) -> impl Iterator<Item = (&'static str, usize, &'static Relay)> + 'a {
    let is_open = |relay: &&Relay| !denied.iter().any(|open| relay.is_denied(open));
    RELAYS.iter().filter(is_open).flat_map(|relay| {
        let hosts = open.allow_hosts.iter().flat_map(HostSet::iter);
        let hosts = hosts.filter(|(host, _)| relay.has(host)).map(|(_, position)| ("allow_hosts", position));
        let suffixes = open.allow_host_suffixes.iter().flat_map(HostSet::iter);
        let suffixes = suffixes.filter(|(suffix, _)| {
            // A suffix of the relay's own name, or a name at or below the relay.
            relay.host.ends_with(suffix) || suffix.strip_prefix('.').is_some_and(|name| relay.has(name))
        });
        let suffixes = suffixes.map(|(_, position)| ("allow_host_suffixes", position));
        hosts.chain(suffixes).map(move |(field, position)| (field, position, relay))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::policy::file::parse_for_home;

    fn notes(text: &str) -> Vec<String> {
        parse_for_home(text, Some(Path::new("/home/u"))).expect("valid").sandbox.notes()
    }

    // Requirement 5.2.
    #[test]
    fn settings_with_other_effect_have_a_note() {
        for (setting, begin) in [
            (r#""filesystem":{"denyRead":["id_*"]}"#, "sandbox.filesystem.denyRead: "),
            (r#""filesystem":{"denyWrite":["/x",".env"]}"#, "sandbox.filesystem.denyWrite: "),
            (r#""network":{"deniedDomains":["a.example"]}"#, "sandbox.network: the domains have no effect"),
            (r#""backend":"srt","network":{"allowedDomains":["a.example"]}"#, "sandbox.network: the domains are for"),
            (r#""backends":{"srt":{"settingsPath":"~/s.json"}}"#, "sandbox.backends.srt.settingsPath: "),
            (r#""backends":{"docker":{"networkMode":"bridge"}}"#, "sandbox.backends.docker.networkMode: `bridge` "),
        ] {
            let found = notes(&format!(r#"{{"sandbox":{{{setting}}}}}"#));
            assert!(matches!(&found[..], [note] if note.starts_with(begin)), "{setting}: {found:?}");
        }
        for setting in [
            r#""filesystem":{"denyRead":["~/.ssh"],"allowWrite":["~/x"],"denyWrite":["/x"]}"#,
            r#""backend":"srt","network":{"allowedDomains":[]},"backends":{"srt":{"settingsPath":"/s.json"}}"#,
            r#""runtime":{"timeout":300},"backends":{"docker":{"networkMode":"none"}}"#,
        ] {
            assert_eq!(notes(&format!(r#"{{"sandbox":{{{setting}}}}}"#)), [""; 0], "control: {setting}");
        }
    }

    #[test]
    fn allowed_hosts_that_serve_other_sites_have_a_note() {
        let notes = |text: &str| parse_for_home(text, None).expect("valid").notes();
        for (open, places) in [
            (r#""allow_hosts":["translate.google.com"]"#, &["open.allow_hosts[0]"][..]),
            (r#""allow_hosts":["a.example","a-example.translate.goog"]"#, &["open.allow_hosts[1]"]),
            (r#""allow_host_suffixes":[".google.com"]"#, &["open.allow_host_suffixes[0]"]),
            (r#""allow_host_suffixes":[".web.archive.org"]"#, &["open.allow_host_suffixes[0]"]),
            (
                r#""allow_host_suffixes":[".archive.org"],"deny_hosts":["web.archive.org"]"#,
                &["open.allow_host_suffixes[0]"],
            ),
        ] {
            let found = notes(&format!(r#"{{"open":{{{open}}}}}"#));
            let begins: Vec<_> = found.iter().filter_map(|note| note.split_once(" allows every site: ")).collect();
            assert_eq!(begins.iter().map(|(place, _)| *place).collect::<Vec<_>>(), places, "{open}: {found:?}");
        }
        let in_session = r#"{"sessions":[{"match":"a","open":{"allow_hosts":["archive.ph"]}}]}"#;
        assert!(notes(in_session)[0].starts_with("sessions[0].open.allow_hosts[0] allows every site: "));
        for open in [
            r#""allow_hosts":["google.com","archive.org","notarchive.ph"],"allow_host_suffixes":[".example"]"#,
            r#""allow_host_suffixes":[".archive.org"],"deny_hosts":["web.archive.org"],"deny_host_suffixes":[".web.archive.org"]"#,
        ] {
            assert_eq!(notes(&format!(r#"{{"open":{{{open}}}}}"#)), [""; 0], "control: {open}");
        }
    }

    #[test]
    fn blocks_with_addresses_of_the_machine_have_a_note() {
        let notes = |block: &str| {
            let text = format!(r#"{{"open":{{"allow_cidrs":["10.0.0.0/8","{block}"]}}}}"#);
            parse_for_home(&text, None).expect("valid").notes()
        };
        for (block, part) in [
            ("0.0.0.0/0", "169.254.169.254"),
            ("169.254.169.254", "169.254.169.254"),
            ("fe80::/10", "169.254.169.254"),
            ("::/0", "169.254.169.254"),
            ("64.0.0.0/2", "this machine's own"),
        ] {
            let found = notes(block);
            assert!(
                matches!(&found[..], [note] if note.starts_with("open.allow_cidrs[1]: ") && note.contains(part)),
                "{block}: {found:?}"
            );
        }
        for block in ["127.0.0.0/8", "127.0.0.1", "::1", "192.168.0.0/16", "fd00::/8"] {
            assert_eq!(notes(block), [""; 0], "control: {block}");
        }
        let text = r#"{"sessions":[{"match":"a","open":{"allow_cidrs":["0.0.0.0/0"]}}]}"#;
        let found = parse_for_home(text, None).expect("valid").notes();
        assert!(found[0].starts_with("sessions[0].open.allow_cidrs[0]: "), "{found:?}");
    }

    #[test]
    fn state_without_own_contexts_has_a_note() {
        let notes = |browser: &str| {
            let text = format!(r#"{{"browser":{{{browser}}}}}"#);
            parse_for_home(&text, Some(Path::new("/home/u"))).expect("valid").notes()
        };
        let state = r#""state":{"mail-*":{"cookies":[]}}"#;
        for (isolation, begin) in [
            ("", "browser.state has an effect in `serve`, `mcp --browser` and the runtime's mode `shared` only: "),
            (r#","isolation":"shared""#, "browser.state has no effect: browser.isolation is `shared`; "),
        ] {
            let found = notes(&format!("{state}{isolation}"));
            assert!(matches!(&found[..], [note] if note.starts_with(begin)), "{isolation}: {found:?}");
        }
        assert_eq!(notes(&format!(r#"{state},"isolation":"session""#)), [""; 0], "control");
        assert_eq!(notes(r#""isolation":"shared""#), [""; 0], "control");
    }

    // Requirement 7.0.
    #[test]
    fn forms_that_an_engine_of_the_file_lacks_have_a_note() {
        let notes = |fields: &str| {
            let text = format!(r#"{{"subcommands":{{"enable":["get","click-at","press-count"]}},{fields}}}"#);
            parse_for_home(&text, Some(Path::new("/home/u"))).expect("valid").notes()
        };
        for (fields, place) in [
            (r#""engine":"agent-browser""#, "engine"),
            (
                r#""engine":"cdp","sessions":[{"match":"a-*"},{"match":"b-*","engine":"agent-browser"}]"#,
                "sessions[1].engine",
            ),
        ] {
            let lacks = "agent-browser lacks `click-at`, `press-count` of subcommands.enable; `cdp` has them";
            assert_eq!(notes(fields), [format!("{place}: {lacks}")]);
        }
        assert_eq!(notes(r#""engine":"cdp""#), [""; 0], "control");
        // The front end decides.
        assert_eq!(notes(r#""open":{}"#), [""; 0], "control");
    }
}
