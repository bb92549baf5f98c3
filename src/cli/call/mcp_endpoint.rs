//! MCP endpoint: the URL at which a server answers MCP requests.

use std::str::FromStr;

use thiserror::Error;
use url::{Host, Url};

/// URL of an MCP server that is reached over plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct McpEndpoint {
    url: Url,
    host: String,
    port: u16,
}

/// Reason why a URL is no MCP endpoint.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum McpEndpointError {
    #[error("not a URL; write it as `http://127.0.0.1:8080/mcp`")]
    NotAUrl,
    #[error(
        "https is not supported here; forward the server's port, for example with `ssh -L 8080:127.0.0.1:8080 HOST`, and use `http://127.0.0.1:8080/mcp`"
    )]
    Https,
    #[error("`{0}` is not http; write the URL as `http://127.0.0.1:8080/mcp`")]
    Scheme(String),
    #[error("a user name or password in the URL is visible to other users; use --token-file or BROWSER_SHELL_TOKEN")]
    UserInfo,
    #[error("the URL has no path; did you mean `{0}`?")]
    NoPath(Url),
}

impl FromStr for McpEndpoint {
    type Err = McpEndpointError;

    fn from_str(text: &str) -> Result<Self, McpEndpointError> {
        let mut url = Url::parse(text).map_err(|_| McpEndpointError::NotAUrl)?;
        match url.scheme() {
            "http" => {}
            "https" => return Err(McpEndpointError::Https),
            // `localhost:8080/mcp` parses as a URL with the scheme `localhost`.
            scheme => return Err(McpEndpointError::Scheme(scheme.to_owned())),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(McpEndpointError::UserInfo);
        }
        let host = match url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => return Err(McpEndpointError::NotAUrl),
        };
        let port = url.port_or_known_default().ok_or(McpEndpointError::NotAUrl)?;
        url.set_fragment(None);
        if url.path() == "/" {
            url.set_path("/mcp");
            return Err(McpEndpointError::NoPath(url));
        }
        Ok(Self { url, host, port })
    }
}

impl McpEndpoint {
    /// Returns the URL.
    pub(super) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Returns host and port for a connection.
    pub(super) fn address(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// Returns the path with the query, for the first line of a request.
    pub(super) fn target(&self) -> String {
        let query = self.url.query().map_or_else(String::new, |query| format!("?{query}"));
        format!("{}{query}", self.url.path())
    }

    /// Returns the value of the header `Host`.
    pub(super) fn authority(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_endpoint_is_split_for_connection_and_request() {
        for (text, address, authority, target) in [
            ("http://127.0.0.1:8080/mcp", ("127.0.0.1", 8080), "127.0.0.1:8080", "/mcp"),
            ("http://box.example/mcp?a=b#c", ("box.example", 80), "box.example", "/mcp?a=b"),
            ("http://[::1]:80/x/mcp", ("::1", 80), "[::1]", "/x/mcp"),
        ] {
            let endpoint: McpEndpoint = text.parse().expect(text);
            assert_eq!((endpoint.address(), endpoint.authority().as_str()), (address, authority), "{text}");
            assert_eq!(endpoint.target(), target, "{text}");
        }
    }

    #[test]
    fn unusable_urls_are_errors_that_name_the_fix() {
        for (text, fix) in [
            ("", "http://127.0.0.1:8080/mcp"),
            ("8080", "http://127.0.0.1:8080/mcp"),
            ("localhost:8080/mcp", "http://127.0.0.1:8080/mcp"),
            ("file:///etc/passwd", "http://127.0.0.1:8080/mcp"),
            ("https://box.example/mcp", "ssh -L"),
            ("http://a:b@box.example/mcp", "--token-file"),
            ("http://box.example:8080", "`http://box.example:8080/mcp`"),
        ] {
            let error = text.parse::<McpEndpoint>().expect_err(text).to_string();
            assert!(error.contains(fix), "{text:?}: {error}");
        }
    }
}
