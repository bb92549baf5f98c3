//! Parsing of the host names that `--allow-host` takes.

use std::net::Ipv6Addr;

/// Checks a host in the form of a Host header, with or without a port.
///
/// An empty host is an error: it would allow an address that other machines can reach, and match no request.
///
/// # Errors
///
/// The message for the user.
pub(super) fn parse_host_name(text: &str) -> Result<String, &'static str> {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (text, None),
    };
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_address = address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    if (is_address || is_name) && port.is_none_or(|port| port.parse::<u16>().is_ok()) {
        Ok(text.to_owned())
    } else {
        Err("not a host name; write it as `box.example` or `box.example:8443`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_host_names_are_validated() {
        for text in ["box.example", "box.example:8443", "[::1]", "[::1]:80", "10.0.0.1:80", "localhost"] {
            assert_eq!(parse_host_name(text).as_deref(), Ok(text));
        }
        for text in
            ["", " ", ":80", "a b", "box.example:", "box.example:x", "box.example:99999", "http://box", "box/mcp", "*"]
        {
            assert!(parse_host_name(text).is_err(), "{text:?}");
        }
    }
}
