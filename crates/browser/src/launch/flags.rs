//! Flags of the Chromium that a runtime starts.

use std::net::{IpAddr, Ipv4Addr};

/// Flags of every start.
const FLAGS: &[&str] = &[
    // Commands and answers use file descriptors 3 and 4. No port listens, so no other program can connect.
    "--remote-debugging-pipe",
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    // The flag has two names in different versions.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // No connections except for pages that were opened.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    DISABLED_FEATURES,
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--noerrdialogs",
    "--disable-prompt-on-repost",
    // A page from this cache does not load, so waiting for it after going back would time out.
    "--disable-back-forward-cache",
    // A container has no keyring; cookies are encrypted with a key in the profile.
    "--password-store=basic",
    // Crash dumps contain text that people typed.
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-gpu",
    // /dev/shm of a container is often too small, and is everyone's.
    "--disable-dev-shm-usage",
    "--mute-audio",
    POINTER,
    // Tabs, loading marks and bubbles of Chromium's own windows change at once, which saves work at each navigation. Pages keep theirs.
    "--animation-duration-scale=0",
    // A bar would say that there is no renderer sandbox, and take a part of the first window.
    "--disable-infobars",
    // Agents work on pages in the background.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
];

/// Features that are off. `WebRtcHideLocalIpsWithMdns` asks for `.local` names by multicast. The two `WebUIOmnibox` popups start
/// two renderers for each window, for a menu that nobody sees.
const DISABLED_FEATURES: &str = "--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication,NetworkTimeServiceQuerying,WebRtcHideLocalIpsWithMdns,WebUIOmniboxPopup,WebUIOmniboxAimPopup";

/// Flag by which media queries say that there is a mouse: `HoverType::kHover` and `PointerType::kFine`. Neither a start without a
/// display nor one on Xvnc has a device that Chromium takes for one, and pages would choose their forms for tablets.
const POINTER: &str =
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4";

/// Flag of the size of windows, as a runtime has it.
const RUNTIME_SIZE: &str = "--window-size=1280,800";

/// Flag of a start without a display.
const HEADLESS: &str = "--headless=new";

/// Flags of a start on a display. Without a window manager, a window is where it is put.
const ON_DISPLAY: &[&str] = &[
    "--ozone-platform=x11",
    "--window-position=0,0",
    // The windows are those of sessions.
    "--no-startup-window",
];

/// Returns the flags of every start, with or without a display.
pub(super) fn fixed(has_display: bool) -> impl Iterator<Item = &'static str> {
    let first: &[&str] = if has_display { ON_DISPLAY } else { &[HEADLESS] };
    first.iter().chain(FLAGS).copied()
}

/// Returns true if every start has the flag anyway.
#[must_use]
pub fn is_fixed_flag(flag: &str) -> bool {
    flag == HEADLESS || flag == RUNTIME_SIZE || FLAGS.contains(&flag)
}

/// Returns the address of the guard's listener for the session with this number, from 1 on.
#[must_use]
pub(super) const fn session_address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 1, number)
}

/// Returns the flag by which Chromium looks no names up: the guard does. Chromium would do so itself for WebRTC, whose candidates
/// are names of a page's choice. The guard's own addresses are excluded one by one, because names could match a wildcard.
#[must_use]
pub(super) fn resolver_rules(guard: IpAddr, session_addresses: u8) -> String {
    let mut rules = format!("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {guard}");
    for number in 1..=session_addresses {
        rules.push_str(", EXCLUDE ");
        rules.push_str(&session_address(number).to_string());
    }
    rules
}
