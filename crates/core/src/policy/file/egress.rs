//! Section `egress` of the policy file.

use super::fields::Fields;
use super::text::{CREDENTIALS_FILE, HOST_OR_SUFFIX, PROXY};
use super::value::{Choice, PORT, Whole};
use crate::policy::rules::{EgressLimits, EgressMode, EgressRules, Subresources};

pub(super) fn egress(fields: &mut Fields<'_>, egress: &mut EgressRules) {
    let text = "public: any public host, and the addresses of open.allow_cidrs. allowlist: in addition, every connection must match the allow lists of open. off: any address but this machine's own. Default: public.";
    let modes = EgressMode::ALL.iter().map(|mode| (mode.as_str(), *mode));
    fields.field("mode", text, &Choice::new(modes), &mut egress.mode);
    let text = "public: pages load from any host that the mode allows. A list: connections may go only to these hosts, to hosts with these suffixes (with a leading dot), and to the allow lists of open. Default: public.";
    if let Some(hosts) = fields.list_or_word("subresources", text, "public", &HOST_OR_SUFFIX) {
        egress.subresources = Subresources::Listed(hosts.into());
    }
    let text = "Ports below 1024 that pages and connections may use in addition to 80 and 443.";
    egress.allow_ports = fields.list("allow_ports", text, &PORT).unwrap_or_default();
    let text = "The HTTP proxy that the guard connects through, such as http://proxy.example.com:3128.";
    fields.field("upstream", text, &PROXY, &mut egress.upstream);
    let text = "The absolute path of a file with one line user:password for that proxy.";
    let mut credentials_file = None;
    fields.field("upstream_credentials_file", text, &CREDENTIALS_FILE, &mut credentials_file);
    let message = "has no effect without `egress.upstream`; name the proxy there or remove this";
    fields.requires("upstream_credentials_file", "upstream", message);
    if let Some(upstream) = &mut egress.upstream {
        upstream.credentials_file = credentials_file;
    }
    fields.section("limits", "Limits of connections.", |fields| limits(fields, &mut egress.limits));
}

fn limits(fields: &mut Fields<'_>, limits: &mut EgressLimits) {
    let text = "The most connections at the same time. Default: 512.";
    fields.field("max_connections", text, &Whole(1..=1024_usize), &mut limits.max_connections);
    let text = "Seconds without a byte after which a connection is closed. Default: 300.";
    fields.field("idle_sec", text, &Whole(1..=3600_u64), &mut limits.idle_sec);
    let text = "The most bytes of a request's header. Default: 65536.";
    fields.field("max_header_bytes", text, &Whole(1024..=65_536_usize), &mut limits.max_header_bytes);
    let text = "The most bytes of one connection, both directions together. Default: no limit.";
    fields.field("max_bytes", text, &Whole(1..=1_u64 << 50), &mut limits.max_bytes);
}
