//! Check of the egress guard, and that the browser uses it.

use std::net::SocketAddr;

use crate::browser::cdp::Browser;
use crate::cli::doctor::check::Check;
use crate::config::Settings;
use crate::egress::{self, Status};

const NAME: &str = "egress guard";

/// Returns the flags of Chromium that send every connection to the guard at `address`.
fn proxy_flags(address: SocketAddr) -> [String; 2] {
    [format!("--proxy-server=http://{address}"), "--proxy-bypass-list=<-loopback>".to_owned()]
}

/// Checks the guard and the browser's flags. A proxy in the browser's managed policy is not visible here.
pub(super) async fn check(address: SocketAddr, settings: &Settings) -> Check {
    let flags = Browser::new(settings.cdp_port).flags().await.ok();
    let is_used = flags.map(|flags| proxy_flags(address).iter().all(|flag| flags.contains(flag.as_str())));
    match (egress::query_status(address).await, is_used) {
        (Status::Running(mode), Some(true)) => {
            Check::passed(NAME, format!("{mode}, on {address}; the browser was started with it"))
        }
        (Status::Running(mode), None) => {
            Check::passed(NAME, format!("{mode}, on {address}; the browser does not say whether it uses the guard"))
        }
        (Status::Running(mode), Some(false)) => Check::failed(
            NAME,
            format!("{mode}, on {address}, but the browser was not started with it"),
            format!(
                "start Chromium with --proxy-server=http://{address} '--proxy-bypass-list=<-loopback>' \
                 --webrtc-ip-handling-policy=disable_non_proxied_udp \
                 '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {}' --disable-features=WebRtcHideLocalIpsWithMdns",
                address.ip()
            ),
        ),
        (Status::PolicyInvalid, _) => Check::failed(
            NAME,
            format!("on {address}, every connection is refused because the policy file is invalid"),
            format!("run `browser-shell policy check {}` and correct the file", settings.policy.display()),
        ),
        (Status::Absent, Some(true)) => Check::failed(
            NAME,
            format!("nothing answers on {address}, so the browser cannot connect to anything"),
            "start `browser-shell egress`",
        ),
        (Status::Absent, _) => Check::passed(
            NAME,
            format!("off: no guard on {address}, so pages can connect to everything that the browser can reach"),
        ),
    }
}
