//! Settings that several servers have: the credentials that they accept, and the host names that `--allow-host` takes.

use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::api::auth::{CredentialSettings, CredentialsError};
use crate::cli::output::CliError;
use browser_shell_core::shares::{TrustedProxies, TrustedProxy};

/// Settings of the credentials that a server accepts.
#[derive(Args, Debug)]
#[command(next_help_heading = "Credentials")]
pub(super) struct CredentialArguments {
    /// File of API keys, one line for each: SUBJECT SCOPE sha256:HASH [default: none]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_API_KEYS")]
    api_keys: Option<PathBuf>,

    /// File with the public keys of tokens (JWT): PEM, or a JSON Web Key Set [default: none]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_JWT_KEYS")]
    jwt_keys: Option<PathBuf>,

    /// Authorization server that tokens must name as `iss` [default: none]
    #[arg(long, value_name = "URL", env = "BROWSER_SHELL_JWT_ISSUER")]
    jwt_issuer: Option<String>,

    /// Name of this server, which tokens must have in `aud`; repeat the flag for more [default: the public URL with /mcp]
    #[arg(long, value_name = "NAME", env = "BROWSER_SHELL_JWT_AUDIENCE", value_delimiter = ',')]
    jwt_audience: Vec<String>,

    /// Seconds by which the clock of the authorization server may differ
    #[arg(long, value_name = "SEC", env = "BROWSER_SHELL_JWT_LEEWAY_SEC", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=120))]
    jwt_leeway_sec: u64,

    /// Address of this server as clients write it, such as <https://browser.example> [default: the Host of a request]
    #[arg(long, value_name = "URL", env = "BROWSER_SHELL_PUBLIC_URL")]
    public_url: Option<String>,

    /// Address, or block of addresses, of a proxy in front: its clients count one by one, by X-Forwarded-For; repeat the flag for more
    #[arg(long, value_name = "CIDR", env = "BROWSER_SHELL_TRUSTED_PROXY", value_delimiter = ',', value_parser = str::parse::<TrustedProxy>)]
    trusted_proxy: Vec<TrustedProxy>,
}

impl CredentialArguments {
    /// Returns the proxies in front of the server.
    pub(super) fn proxies(&self) -> TrustedProxies {
        self.trusted_proxy.iter().copied().collect()
    }

    /// Returns the settings.
    pub(super) fn settings(&self) -> CredentialSettings {
        CredentialSettings {
            jwt_keys: self.jwt_keys.clone(),
            jwt_issuer: self.jwt_issuer.clone(),
            jwt_audiences: self.jwt_audience.clone(),
            jwt_leeway: Duration::from_secs(self.jwt_leeway_sec),
            api_keys: self.api_keys.clone(),
            public_url: self.public_url.clone(),
            ..CredentialSettings::default()
        }
    }
}

impl From<CredentialsError> for CliError {
    fn from(error: CredentialsError) -> Self {
        Self::Command(Box::new(error))
    }
}

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
