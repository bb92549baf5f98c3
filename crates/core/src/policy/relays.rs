//! Hosts that serve pages of other sites under names of their own.
//!
//! The policy decides by the host of a request. Where that host fetches any page that its address names, an entry for it allows every
//! site, and its egress is not this server's. The list is short and made by hand, from what the operators document; it is for
//! warnings, and no decision depends on it.

use super::host_set::HostSet;
use super::open_rules::OpenRules;

/// Host that serves pages of other sites, by itself and by the names below it.
pub(super) struct Relay {
    pub(super) host: &'static str,
    pub(super) kind: &'static str,
    /// Page of the operator that says so.
    pub(super) source: &'static str,
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
pub(super) fn allowed<'a>(
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
