//! Settings of the credentials that a server accepts.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::api::auth::{CredentialSettings, CredentialsError};
use crate::cli::error::CliError;
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
