//! Patterns of secrets that have a public form.

use std::sync::LazyLock;

use regex::Regex;

/// The length in bytes of the shortest text that [`TOKEN`] or [`PRIVATE_KEY`] matches.
pub(super) const SHORTEST: usize = 15;

/// Tokens by their prefixes, as their issuers publish them. The first group is what stands before a token: nothing, a character that
/// is neither letter nor digit, or an escape of JSON or a URL.
pub(super) const TOKEN: &str = concat!(
    r"(^|[^A-Za-z0-9]|\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})(?:",
    // GitHub
    r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}",
    // Stripe
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}",
    // AWS
    r"|A(?:KI|SI)A[A-Z0-9]{16}\b",
    // Slack
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",
    // Google
    r"|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_.-]{20,}",
    r")"
);

/// A block with a private key, to its end or to the end of the text.
pub(super) const PRIVATE_KEY: &str = r"(?s)-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)";

/// Beginning of a private key.
pub(super) static START_OF_KEY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----").ok());

/// End of a private key.
pub(super) static END_OF_KEY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----").ok());

#[cfg(test)]
mod tests {
    use super::super::{MASK, text};

    fn letters(count: usize) -> String {
        "aB3dE".repeat(count.div_ceil(5)).chars().take(count).collect()
    }

    #[test]
    fn tokens_with_public_prefixes_are_masked() {
        let upper = "A1B2C3D4E5F6G7H8";
        let tokens = [
            ("ghp_", letters(36)),
            ("gho_", letters(36)),
            ("ghu_", letters(36)),
            ("ghs_", letters(36)),
            ("ghr_", letters(36)),
            ("github_pat_", letters(22) + "_" + &letters(59)),
            ("sk_live_", letters(24)),
            ("sk_test_", letters(24)),
            ("rk_live_", letters(24)),
            ("whsec_", letters(32)),
            ("AKIA", upper.to_owned()),
            ("ASIA", upper.to_owned()),
            ("xoxb-", "123-456-".to_owned() + &letters(24)),
            ("xoxp-", letters(24)),
            ("xoxa-", letters(24)),
            ("xoxr-", letters(24)),
            ("xoxs-", letters(24)),
            ("xapp-", "1-A1-".to_owned() + &letters(24)),
            ("AIza", letters(35)),
            ("ya29.", letters(60)),
        ];
        for (prefix, rest) in &tokens {
            let token = format!("{prefix}{rest}");
            for (before, after) in [("", ""), ("a ", " b"), ("x_", ""), (r"\n", "\""), ("?k%3D", "&a"), ("(", ")")] {
                let masked = text(&format!("{before}{token}{after}")).into_owned();
                assert_eq!(masked, format!("{before}{MASK}{after}"), "{token}");
            }
        }
        let all = tokens.iter().map(|(prefix, rest)| format!("{prefix}{rest}")).collect::<Vec<_>>().join("\n");
        assert_eq!(text(&all), [MASK; 20].join("\n"));
    }

    #[test]
    fn private_keys_are_masked_to_their_end() {
        for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
            let key = format!("-----BEGIN {kind}PRIVATE KEY-----\nMIIE\n-----END {kind}PRIVATE KEY-----");
            assert_eq!(text(&format!("a\n{key}\nb")), "a\n***\nb");
            assert_eq!(text(&format!("{key} and {key}.")), "*** and ***.");
        }
        assert_eq!(text("a -----BEGIN PRIVATE KEY-----\nMIIE\nMIIE"), "a ***");
        assert_eq!(text(r"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"), r"***\n");
        let pgp = "-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----!";
        assert_eq!(text(pgp), "***!");
    }

    #[test]
    fn text_that_only_resembles_a_token_is_not_masked() {
        for given in [
            "ghp_ is the prefix of a token",
            "ghp_short123",
            "task_live_configuration1",
            "sk_live_ and sk_test_ keys",
            "AKIA is the prefix",
            "AKIA1234567890ABCDEFG is too long",
            "MAKIA1234567890ABCDEF",
            "AKIAabcdefghijklmnop",
            "xoxb- tokens",
            "xoxo-hugs-and-kisses",
            "AIza",
            "ya29.",
            "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "BEGIN PRIVATE KEY",
        ] {
            assert_eq!(text(given), given);
        }
    }
}
