//! Credentials that a server knows by their hash: API keys and viewer tickets.
//!
//! A file of API keys has one on each line: its subject, its scope and the SHA-256 of the key, so that a file which leaks opens nothing.
//!
//! A viewer ticket is a short-lived credential for an address that a browser opens, where no header can be sent. It loads the viewer's
//! page once and opens the screen once. The screen ends it.
//!
//! Invariants: the time of a comparison of keys does not depend on the keys. Tickets are known by their hash only, their number is
//! bounded, and a guess leaves nothing behind.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::auth::principal::{Evidence, Principal, Scope};
use crate::decision::{Code, Decision};
use crate::policy::Problem;
use crate::session_id::Subject;
use crate::shares::Share;

/// Start of a hash in the file.
const HASH: &str = "sha256:";

/// API keys of a server.
#[derive(Clone, Default)]
pub struct ApiKeys(Vec<ApiKey>);

#[derive(Clone)]
struct ApiKey {
    digest: [u8; 32],
    principal: Principal,
}

impl ApiKeys {
    /// Parses a file of API keys. Empty lines and lines that begin with `#` are ignored.
    ///
    /// ```
    /// use browser_shell_core::auth::ApiKeys;
    ///
    /// // The hash is that of `printf %s k1 | sha256sum`.
    /// let file = "# subject scope hash\n\
    ///     alice drive sha256:6ab9f1eb8f7d3388f4f9d586f66e99fd54080df2c446f0e58668b09c08a16dd0\n";
    /// let keys = ApiKeys::parse(file).expect("valid");
    /// assert_eq!(keys.find("k1").and_then(|principal| principal.subject.as_ref()).expect("alice").as_str(), "alice");
    ///
    /// let problems = ApiKeys::parse("alice drive k1").err().expect("a problem");
    /// assert_eq!(problems[0].path, "line 1");
    /// ```
    ///
    /// # Errors
    ///
    /// Every problem of the text with its line.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let (mut keys, mut problems) = (Vec::<ApiKey>::new(), Vec::new());
        for (position, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let key = read_line(line).and_then(|key| {
                let is_new = keys.iter().all(|other| other.digest != key.digest);
                if is_new { Ok(key) } else { Err("has the same key as another line; remove one".to_owned()) }
            });
            match key {
                Ok(key) => keys.push(key),
                Err(message) => problems.push(Problem::new(format!("line {}", position + 1), message)),
            }
        }
        if keys.is_empty() && problems.is_empty() {
            problems.push(Problem::new("", "has no keys; add a line `SUBJECT SCOPE sha256:HASH`"));
        }
        if problems.is_empty() { Ok(Self(keys)) } else { Err(problems) }
    }

    /// Creates the keys of a server with one key, which gives the scope `drive` to a principal without a name.
    #[must_use]
    pub fn of_one(key: &str) -> Self {
        let digest = digest(key);
        let principal = Principal { subject: None, scope: Some(Scope::Drive), evidence: Evidence::ApiKey(digest) };
        Self(vec![ApiKey { digest, principal }])
    }

    /// Returns the principal of a key. The key is compared with all keys, and each comparison takes the same time.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<&Principal> {
        let digest = digest(key);
        self.0.iter().fold(None, |found, known| {
            let is_same = bool::from(known.digest.ct_eq(&digest));
            if is_same { Some(&known.principal) } else { found }
        })
    }

    /// Returns the subjects that have a key.
    #[must_use]
    pub fn subjects(&self) -> BTreeSet<Subject> {
        self.0.iter().filter_map(|key| key.principal.subject.clone()).collect()
    }

    /// Returns true if the key of a principal is among these, and still gives what the principal has.
    #[must_use]
    pub fn confirms(&self, principal: &Principal) -> bool {
        let mut known = self.0.iter().map(|key| &key.principal);
        known.any(|known| known.evidence == principal.evidence && known.covers(principal))
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|key| &key.principal)).finish()
    }
}

/// Returns the hash by which a server knows a credential.
fn digest(credential: &str) -> [u8; 32] {
    Sha256::digest(credential.as_bytes()).into()
}

fn read_line(line: &str) -> Result<ApiKey, String> {
    let fields: Vec<_> = line.split_whitespace().collect();
    let [subject, scope, hash] = fields.as_slice() else {
        return Err("must be `SUBJECT SCOPE sha256:HASH`".to_owned());
    };
    let subject =
        Subject::new(subject).ok_or("has a subject that is longer than 255 bytes or has control characters")?;
    let scope = Scope::parse(scope).ok_or_else(|| format!("has the scope `{scope}`; use watch, drive or admin"))?;
    let wrong = "must end with the hash of the key as `printf %s KEY | sha256sum` prints it, after `sha256:`";
    let digest = hash.strip_prefix(HASH).and_then(parse_hex).ok_or(wrong)?;
    let principal = Principal { subject: Some(subject), scope: Some(scope), evidence: Evidence::ApiKey(digest) };
    Ok(ApiKey { digest, principal })
}

/// Parses 64 hexadecimal digits.
fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 2 * bytes.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Use of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketUse {
    /// Loading the viewer's page.
    Page,
    /// Opening the screen.
    Screen,
}

/// Tickets that can be used.
#[derive(Debug, Default)]
pub struct ViewerTickets(HashMap<[u8; 32], ViewerTicket>);

#[derive(Debug)]
struct ViewerTicket {
    principal: Principal,
    end: Duration,
    has_loaded_page: bool,
}

impl ViewerTickets {
    /// Adds a ticket for a principal, valid until `end`. Times are relative to any fixed one.
    ///
    /// # Errors
    ///
    /// `too-many-tickets` if there are too many, of this subject or of all.
    pub fn add(&mut self, ticket: &str, principal: Principal, now: Duration, end: Duration) -> Result<(), Decision> {
        self.0.retain(|_, ticket| now < ticket.end);
        let of_subject = self.0.values().filter(|ticket| ticket.principal.subject == principal.subject).count();
        let too_many = |_| Decision::new(Code::TooManyTickets, "too many tickets have not been used");
        Share::TICKETS.admit(of_subject, self.0.len()).map_err(too_many)?;
        self.0.insert(digest(ticket), ViewerTicket { principal, end, has_loaded_page: false });
        Ok(())
    }

    /// Returns the principal of a ticket and takes this use from it.
    ///
    /// # Errors
    ///
    /// `ticket-invalid` for an unknown ticket, an expired one, and one that was used in this way or for the screen.
    pub fn redeem(&mut self, ticket: &str, purpose: TicketUse, now: Duration) -> Result<Principal, Decision> {
        let refused = || Decision::new(Code::TicketInvalid, "the ticket is unknown, expired or used");
        let digest = digest(ticket);
        let found = self.0.get_mut(&digest).ok_or_else(refused)?;
        if now >= found.end || purpose == TicketUse::Screen {
            let removed = self.0.remove(&digest).ok_or_else(refused)?;
            return if now < removed.end { Ok(removed.principal) } else { Err(refused()) };
        }
        if std::mem::replace(&mut found.has_loaded_page, true) {
            return Err(refused());
        }
        Ok(found.principal.clone())
    }

    /// Returns the number of tickets that are held.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.0.len()
    }
}
