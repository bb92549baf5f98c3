//! Credentials that a server accepts, the settings that they come from, and the files of their keys.
//!
//! Invariants: a change of a file of keys applies to the next request. A file that cannot be used any more is logged once, and has
//! no keys until it is right again: who removes a key with the file, or breaks the file, leaves no key in force.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use thiserror::Error;
use url::Url;

use browser_shell_core::auth::{ApiKeys, ClaimRules, Evidence, KeySet, Principal, Subject, TokenRules};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::Problem;
use browser_shell_system::os::{describe, files};

/// Seconds that a viewer ticket may be valid for.
const TICKET_SECONDS: RangeInclusive<u64> = 1..=3600;

/// Seconds that a viewer ticket is valid for, unless a setting says otherwise.
const DEFAULT_TICKET_SECONDS: u64 = 30;

/// Maximum size of a file, in bytes.
const MAX_KEY_FILE: u64 = 1024 * 1024;

/// Settings of a server's credentials.
#[derive(Clone, Debug, Default)]
pub struct CredentialSettings {
    /// File with the public keys of tokens: a JSON Web Key Set, or PEM.
    pub jwt_keys: Option<PathBuf>,
    /// Issuer of tokens.
    pub jwt_issuer: Option<String>,
    /// Names of this server in tokens.
    pub jwt_audiences: Vec<String>,
    /// Tolerance for clocks that differ.
    pub jwt_leeway: Duration,
    /// File with API keys.
    pub api_keys: Option<PathBuf>,
    /// Origin of this server as its clients write it.
    pub public_url: Option<String>,
    /// Public key of tokens with the rules of the base image: PEM in Base64.
    pub base_jwt_key: Option<String>,
    /// The only API key of the base image.
    pub base_api_key: Option<String>,
    /// Time that a viewer ticket can be used for, unless it is the default.
    pub ticket_lifetime: Option<Duration>,
}

impl CredentialSettings {
    /// Adds the base image's variables, which mean the same here. An empty or blank one counts as not set.
    ///
    /// # Errors
    ///
    /// If `TICKET_TTL_SECONDS` is not a number of seconds from 1 to 3600.
    pub fn with_base_variables(self, variable: impl Fn(&str) -> Option<String>) -> Result<Self, CredentialsError> {
        let value = |name| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let lifetime = |text: String| {
            let seconds = text.parse().ok().filter(|seconds| TICKET_SECONDS.contains(seconds));
            seconds.map(Duration::from_secs).ok_or(CredentialsError::TicketLifetime(text))
        };
        Ok(Self {
            base_jwt_key: value("JWT_PUBLIC_KEY"),
            base_api_key: value("SANDBOX_API_KEY"),
            ticket_lifetime: value("TICKET_TTL_SECONDS").map(lifetime).transpose()?,
            ..self
        })
    }
}

/// Reason why credentials cannot be used.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// The issuer is missing.
    #[error("tokens need an issuer; give it with --jwt-issuer")]
    NoIssuer,
    /// The audience is missing.
    #[error("tokens need an audience, which is this server; give it with --jwt-audience or --public-url")]
    NoAudience,
    /// Settings for tokens without keys.
    #[error("{0} has no effect without keys; give them with --jwt-keys")]
    NoKeys(&'static str),
    /// The public key of the base image cannot be used.
    #[error("JWT_PUBLIC_KEY must be the Base64 of one public key in PEM: {0}")]
    BaseKey(String),
    /// There are keys in two places.
    #[error("JWT_PUBLIC_KEY and --jwt-keys contradict each other; remove one of them")]
    TwoKeys,
    /// The policy has a login that everybody with a credential could take.
    #[error("the policy cannot be used with credentials: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Policy(Vec<Problem>),
    /// The lifetime of tickets is not valid.
    #[error("`{0}` in TICKET_TTL_SECONDS is not valid; use a number of seconds from 1 to 3600")]
    TicketLifetime(String),
    /// The address is not an origin.
    #[error("`{0}` is not the origin of a server; use one such as https://browser.example")]
    PublicUrl(String),
}

/// State of a server's credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CredentialHealth {
    /// The server has none.
    None,
    /// All files of keys can be used.
    Healthy,
    /// A file of keys cannot be used; others are in force.
    Degraded,
    /// No credential is in force, so nobody gets in.
    Unhealthy,
}

impl CredentialHealth {
    /// Returns the word of the report.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }

    /// Returns true unless a file of keys cannot be used.
    #[must_use]
    pub(crate) const fn is_whole(self) -> bool {
        matches!(self, Self::None | Self::Healthy)
    }
}

/// Credentials that a server accepts.
#[derive(Debug)]
pub(super) struct Credentials {
    pub(super) tokens: Option<Tokens>,
    api_keys: Option<KeyFile<ApiKeys>>,
    base_api_key: Option<ApiKeys>,
    pub(super) public_url: Option<String>,
}

/// Tokens that a server accepts.
#[derive(Debug)]
pub(super) struct Tokens {
    keys: Keys,
    pub(super) rules: TokenRules,
}

#[derive(Debug)]
enum Keys {
    File(KeyFile<KeySet>),
    Fixed(Arc<KeySet>),
}

impl Credentials {
    /// Opens the credentials of a server. Returns `None` if the settings name none.
    ///
    /// # Errors
    ///
    /// See [`CredentialsError`].
    pub(super) fn open(settings: &CredentialSettings) -> Result<Option<Self>, CredentialsError> {
        let public_url = settings.public_url.as_deref().map(origin).transpose()?;
        let mut audiences = settings.jwt_audiences.clone();
        if audiences.is_empty() {
            audiences.extend(public_url.as_ref().map(|origin| format!("{origin}/mcp")));
        }
        let issuer = settings.jwt_issuer.clone();
        let rules = |claims| TokenRules { issuer, audiences, leeway: settings.jwt_leeway, claims };
        let tokens = match (&settings.jwt_keys, &settings.base_jwt_key) {
            (Some(_), Some(_)) => return Err(CredentialsError::TwoKeys),
            (Some(path), None) => {
                let rules = rules(ClaimRules::Strict);
                if rules.issuer.is_none() {
                    return Err(CredentialsError::NoIssuer);
                }
                if rules.audiences.is_empty() {
                    return Err(CredentialsError::NoAudience);
                }
                Some(Tokens { keys: Keys::File(KeyFile::open(path, KeySet::parse)?), rules })
            }
            (None, Some(text)) => {
                // The base image checks neither, so only what is asked for is checked here.
                let rules = TokenRules { audiences: settings.jwt_audiences.clone(), ..rules(ClaimRules::Base) };
                Some(Tokens { keys: Keys::Fixed(Arc::new(base_key(text)?)), rules })
            }
            (None, None) if settings.jwt_issuer.is_some() => return Err(CredentialsError::NoKeys("--jwt-issuer")),
            (None, None) if !settings.jwt_audiences.is_empty() => {
                return Err(CredentialsError::NoKeys("--jwt-audience"));
            }
            (None, None) => None,
        };
        let api_keys = settings.api_keys.as_deref().map(|path| KeyFile::open(path, ApiKeys::parse)).transpose()?;
        let base_api_key = settings.base_api_key.as_deref().map(ApiKeys::of_one);
        if tokens.is_none() && api_keys.is_none() && base_api_key.is_none() {
            if public_url.is_some() {
                tracing::warn!("--public-url has no effect without credentials; give --api-keys or --jwt-keys");
            }
            return Ok(None);
        }
        if settings.jwt_keys.is_some() && public_url.is_none() {
            tracing::warn!(
                "--jwt-keys without --public-url: clients that sign in are told that this server is at http:// and the Host of their request; \
                 behind a proxy with TLS, give its address with --public-url, such as https://browser.example"
            );
        }
        Ok(Some(Self { tokens, api_keys, base_api_key, public_url }))
    }

    /// Returns the time that a viewer ticket can be used for.
    pub(super) fn ticket_lifetime(settings: &CredentialSettings) -> Duration {
        settings.ticket_lifetime.unwrap_or(Duration::from_secs(DEFAULT_TICKET_SECONDS))
    }

    /// Returns the state of the credentials. Reads the files of keys.
    pub(super) fn health(&self) -> CredentialHealth {
        let of_tokens = self.tokens.as_ref().map(|tokens| tokens.keys.are_usable());
        let of_keys = self.api_keys.as_ref().map(KeyFile::is_usable);
        let of_base = self.base_api_key.as_ref().map(|_| true);
        let all: Vec<bool> = [of_tokens, of_keys, of_base].into_iter().flatten().collect();
        match (all.contains(&true), all.contains(&false)) {
            (_, false) => CredentialHealth::Healthy,
            (true, true) => CredentialHealth::Degraded,
            (false, true) => CredentialHealth::Unhealthy,
        }
    }

    /// Returns the principal of an API key.
    ///
    /// # Errors
    ///
    /// `credential-unknown`.
    pub(super) fn of_api_key(&self, key: &str) -> Result<Principal, Decision> {
        let of_file = self.api_keys.as_ref().and_then(|file| file.keys().find(key).cloned());
        let of_base = self.base_api_key.as_ref().and_then(|keys| keys.find(key).cloned());
        of_file.or(of_base).ok_or_else(unknown)
    }

    /// Returns the subjects that have an API key; `None` if the file of keys cannot be used, which says nothing about them.
    pub(super) fn subjects_with_key(&self) -> Option<BTreeSet<Subject>> {
        // A file that can be used has at least one key.
        self.api_keys.as_ref().map(|file| file.keys().subjects()).filter(|subjects| !subjects.is_empty())
    }

    /// Returns the principal of a bearer token: an API key, or else a JSON Web Token.
    ///
    /// # Errors
    ///
    /// The reason for refusing it.
    pub(super) fn of_bearer(&self, token: &str) -> Result<Principal, Decision> {
        let unknown = match self.of_api_key(token) {
            Ok(principal) => return Ok(principal),
            Err(decision) => decision,
        };
        match &self.tokens {
            Some(tokens) if token.contains('.') => {
                tokens.keys.in_force().verify(token, &tokens.rules, now().ok_or(unknown)?)
            }
            _ => Err(unknown),
        }
    }

    /// Decides if the credential of a principal is still one of the server, after its request.
    ///
    /// # Errors
    ///
    /// The reason why it is not.
    pub(super) fn confirm(&self, principal: &Principal) -> Result<(), Decision> {
        if let Evidence::Token { .. } = principal.evidence {
            let tokens = self.tokens.as_ref().ok_or_else(unknown)?;
            return tokens.keys.in_force().confirm(&principal.evidence, now().ok_or_else(unknown)?);
        }
        let of_file = self.api_keys.as_ref().is_some_and(|file| file.keys().confirms(principal));
        let of_base = self.base_api_key.as_ref().is_some_and(|keys| keys.confirms(principal));
        if of_file || of_base { Ok(()) } else { Err(unknown()) }
    }
}

impl Keys {
    fn are_usable(&self) -> bool {
        match self {
            Self::File(file) => file.is_usable(),
            Self::Fixed(_) => true,
        }
    }

    fn in_force(&self) -> Arc<KeySet> {
        match self {
            Self::File(file) => file.keys(),
            Self::Fixed(keys) => Arc::clone(keys),
        }
    }
}

/// Returns the refusal of a credential that the server does not have.
fn unknown() -> Decision {
    Decision::new(Code::CredentialUnknown, "the server does not have this credential")
}

/// Returns the time since 1970. There is none if the clock is before that, which would make every token look unexpired.
fn now() -> Option<Duration> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok()
}

/// Reads the public key of the base image.
fn base_key(text: &str) -> Result<KeySet, CredentialsError> {
    let text: String = text.split_ascii_whitespace().collect();
    let pem = BASE64_STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let pem = pem.ok_or_else(|| CredentialsError::BaseKey("it is not Base64 of a text".to_owned()))?;
    KeySet::parse(&pem).map_err(|problems| {
        CredentialsError::BaseKey(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    })
}

/// Returns the origin of an address, which must have nothing else.
fn origin(text: &str) -> Result<String, CredentialsError> {
    let invalid = || CredentialsError::PublicUrl(text.to_owned());
    let url = Url::parse(text).map_err(|_| invalid())?;
    let origin = url.origin().ascii_serialization();
    let is_origin = matches!(url.scheme(), "http" | "https") && url.as_str() == format!("{origin}/");
    if is_origin { Ok(origin) } else { Err(invalid()) }
}

/// Error of a file of keys.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {reason}; check its path and its permissions", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The file is not valid.
    #[error("`{}` has {} problem(s): {}", path.display(), problems.len(), join(problems))]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// All problems.
        problems: Vec<Problem>,
    },
}

fn join(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Function that parses the text of a file.
type ParseKeys<T> = fn(&str) -> Result<T, Vec<Problem>>;

/// File of keys.
struct KeyFile<T> {
    path: PathBuf,
    parse: ParseKeys<T>,
    state: Mutex<KeyFileState<T>>,
}

struct KeyFileState<T> {
    /// Bytes of the file when it was read last, or the reason why it could not be read.
    seen: Result<Vec<u8>, String>,
    /// Keys in force: none if the file cannot be used.
    keys: Arc<T>,
    is_usable: bool,
}

impl<T: Default> KeyFile<T> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not valid.
    fn open(path: &Path, parse: ParseKeys<T>) -> Result<Self, KeyFileError> {
        let bytes = read_file(path).map_err(|reason| KeyFileError::Unreadable { path: path.to_owned(), reason })?;
        let keys =
            parse_bytes(&bytes, parse).map_err(|problems| KeyFileError::Invalid { path: path.to_owned(), problems })?;
        Ok(Self {
            path: path.to_owned(),
            parse,
            state: Mutex::new(KeyFileState { seen: Ok(bytes), keys: Arc::new(keys), is_usable: true }),
        })
    }

    /// Returns the keys in force.
    fn keys(&self) -> Arc<T> {
        Arc::clone(&self.read().keys)
    }

    /// Returns true if the file can be used.
    fn is_usable(&self) -> bool {
        self.read().is_usable
    }

    /// Reads the file, and its keys if it has changed.
    fn read(&self) -> MutexGuard<'_, KeyFileState<T>> {
        // Read under the lock, so that an older content never follows a newer one.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = read_file(&self.path);
        if state.seen != seen {
            let path = self.path.display();
            let bytes = seen.as_ref().map_err(Clone::clone);
            let keys = bytes.and_then(|bytes| parse_bytes(bytes, self.parse).map_err(|problems| join(&problems)));
            match &keys {
                Ok(_) => tracing::info!(%path, "the keys were read again"),
                Err(reason) => tracing::error!(%path, reason, "the file cannot be used, so no key is in force"),
            }
            state.is_usable = keys.is_ok();
            state.keys = Arc::new(keys.unwrap_or_default());
            state.seen = seen;
        }
        state
    }
}

impl<T> fmt::Debug for KeyFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyFile").field("path", &self.path).finish_non_exhaustive()
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    files::read(path, MAX_KEY_FILE).map_err(|error| describe(&error))
}

fn parse_bytes<T>(bytes: &[u8], parse: ParseKeys<T>) -> Result<T, Vec<Problem>> {
    let text = str::from_utf8(bytes).map_err(|_| vec![Problem::new("", "is not UTF-8; save it as UTF-8")])?;
    parse(text)
}
