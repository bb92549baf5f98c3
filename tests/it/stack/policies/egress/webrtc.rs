//! Names that a page gives to WebRTC: ICE candidates of the other side, and STUN and TURN servers.

use serde_json::json;

use super::super::browser::Cdp;

/// The part of WebRTC that gets a name.
enum Part {
    /// A candidate of the other side: protocol, host, and the rest of its line.
    Candidate(&'static str, &'static str, &'static str),
    /// A host in a candidate of the other side's session description.
    Description(&'static str),
    /// The URL of a server.
    Server(&'static str),
}
use Part::{Candidate, Description, Server};

/// A way to make Chromium look a name up. `LABEL` is replaced by a label of its own.
pub(super) struct Name {
    pub(super) title: &'static str,
    part: Part,
    /// True if Chromium looks it up in spite of a proxy.
    pub(super) is_looked_up_behind_proxy: bool,
}

const fn name(title: &'static str, part: Part) -> Name {
    Name { title, part, is_looked_up_behind_proxy: true }
}

/// Servers over UDP are not used at all behind a proxy.
const fn over_udp(title: &'static str, url: &'static str) -> Name {
    Name { title, part: Server(url), is_looked_up_behind_proxy: false }
}

pub(super) const NAMES: &[Name] = &[
    name("candidate over UDP", Candidate("udp", "LABEL.leak.example", "")),
    name("passive candidate over TCP", Candidate("tcp", "LABEL.leak.example", " tcptype passive")),
    name("active candidate over TCP", Candidate("tcp", "LABEL.leak.example", " tcptype active")),
    name("candidate with one label", Candidate("udp", "LABEL", "")),
    name("candidate with a final dot", Candidate("udp", "LABEL.leak.example.", "")),
    name("candidate of an alternative root", Candidate("udp", "LABEL.alt", "")),
    name("local candidate", Candidate("udp", "LABEL.local", "")),
    name("local candidate below another name", Candidate("udp", "data.LABEL.local", "")),
    name("local candidate over TCP", Candidate("tcp", "LABEL.local", " tcptype passive")),
    name("candidate in a session description", Description("LABEL.leak.example")),
    name("local candidate in a session description", Description("LABEL.local")),
    name("TURN over TCP", Server("turn:LABEL.leak.example:3478?transport=tcp")),
    name("TURN over TLS", Server("turns:LABEL.leak.example:443?transport=tcp")),
    name("local TURN over TCP", Server("turn:LABEL.local:3478?transport=tcp")),
    over_udp("STUN", "stun:LABEL.leak.example:3478"),
    over_udp("TURN over UDP", "turn:LABEL.leak.example:3478?transport=udp"),
];

impl Name {
    /// Returns the label of this name for a browser with this tag. No label is the beginning of another.
    pub(super) fn label(&self, tag: &str) -> String {
        let letters = self.title.chars().filter(char::is_ascii_alphabetic);
        format!("{tag}-{}-x", letters.collect::<String>().to_ascii_lowercase())
    }

    /// Returns true if Chromium asks for it by multicast.
    pub(super) fn is_multicast(&self) -> bool {
        match self.part {
            Candidate(_, host, _) | Description(host) => host.rsplit('.').next() == Some("local"),
            Server(url) => url.contains(".local:"),
        }
    }

    fn script(&self, tag: &str) -> String {
        let line = |protocol: &str, host: &str, rest: &str| {
            format!("candidate:1 1 {protocol} 2122260223 {host} 45678 typ host{rest}")
        };
        let (servers, step) = match &self.part {
            Candidate(protocol, host, rest) => {
                let candidate = json!({ "candidate": line(protocol, host, rest), "sdpMid": "0", "sdpMLineIndex": 0 });
                (
                    json!([]),
                    format!("await a.setRemoteDescription(b.localDescription); await a.addIceCandidate({candidate})"),
                )
            }
            Description(host) => {
                let line = json!(format!("a={}\r\n", line("udp", host, "")));
                let answer = format!("{{ type: 'answer', sdp: b.localDescription.sdp + {line} }}");
                (json!([]), format!("await a.setRemoteDescription({answer})"))
            }
            Server(url) => (json!([{ "urls": url, "username": "u", "credential": "c" }]), "await 0".to_owned()),
        };
        format!(
            "(async () => {{
                const a = new RTCPeerConnection({{ iceServers: {servers} }}), b = new RTCPeerConnection();
                (globalThis.kept ??= []).push(a, b);
                a.createDataChannel('x');
                await a.setLocalDescription();
                await b.setRemoteDescription(a.localDescription);
                await b.setLocalDescription();
                {step};
            }})()"
        )
        .replace("LABEL", &self.label(tag))
    }
}

/// Uses all names in a page, which keeps its connections.
pub(super) fn use_all_names(tab: &mut Cdp, tag: &str) {
    for name in NAMES {
        tab.run(&name.script(tag));
    }
}

/// Returns the hosts of the servers that WebRTC reaches through a proxy.
pub(super) fn relays(tag: &str) -> impl Iterator<Item = String> {
    let over_tcp = NAMES.iter().filter(|name| name.is_looked_up_behind_proxy && !name.is_multicast());
    over_tcp.filter(|name| matches!(name.part, Server(_))).map(move |name| format!("{}.leak.example", name.label(tag)))
}
