//! Routes of a server's public port, decided by the literal request line.
//!
//! A library normalizes a request before a router sees it: it drops a fragment, and another one in front may decode or resolve
//! more. Here, the line as it was sent decides, so two programs cannot read it differently.
//!
//! Invariants: a path matches in its exact spelling or not at all; the query has no influence on the route.

/// Route of the public port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// `/mcp`: the tool.
    Mcp,
    /// `/vnc`, which leads to the viewer, with the query and its question mark.
    ViewerAddress(&'a str),
    /// A file of the viewer, by its path below `/vnc/`. That of the page is empty.
    ViewerFile(&'a str),
    /// `/websockify`: the screen.
    Screen,
    /// `POST /tickets`: a ticket for the viewer.
    Tickets,
    /// `/.well-known/oauth-protected-resource`: where credentials come from (RFC 9728).
    Metadata,
}

/// Path of the metadata. A client may add the path of the tool (RFC 9728 section 3.1).
const METADATA: [&str; 2] = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"];

impl<'a> Route<'a> {
    /// Returns the route of a request line without its line break, or `None` if it has none.
    #[must_use]
    pub fn of_request_line(line: &'a [u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !matches!(version, "HTTP/1.0" | "HTTP/1.1") || !is_literal(target) {
            return None;
        }
        let (path, query) = target.find('?').map_or((target, ""), |at| target.split_at(at));
        match (method, path) {
            ("GET" | "POST" | "DELETE", "/mcp") => Some(Self::Mcp),
            ("GET" | "HEAD", "/vnc") => Some(Self::ViewerAddress(query)),
            ("GET" | "HEAD", _) if path.starts_with("/vnc/") => path.strip_prefix("/vnc/").map(Self::ViewerFile),
            ("GET", "/websockify") => Some(Self::Screen),
            ("POST", "/tickets") => Some(Self::Tickets),
            ("GET", _) if METADATA.contains(&path) => Some(Self::Metadata),
            _ => None,
        }
    }
}

/// Returns true for a target that has only visible ASCII characters and no fragment.
fn is_literal(target: &str) -> bool {
    target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(line: &str) -> Option<Route<'_>> {
        Route::of_request_line(line.as_bytes())
    }

    #[test]
    fn routes_match_in_their_exact_spelling() {
        for (line, expected) in [
            ("POST /mcp HTTP/1.1", Route::Mcp),
            ("GET /mcp?x=.js HTTP/1.0", Route::Mcp),
            ("GET /vnc HTTP/1.1", Route::ViewerAddress("")),
            ("HEAD /vnc?a=b?c HTTP/1.1", Route::ViewerAddress("?a=b?c")),
            ("GET /vnc/ HTTP/1.1", Route::ViewerFile("")),
            ("GET /vnc/core/rfb.js?v=1 HTTP/1.1", Route::ViewerFile("core/rfb.js")),
            ("GET /websockify?ticket=x HTTP/1.1", Route::Screen),
            ("POST /tickets HTTP/1.1", Route::Tickets),
            ("GET /.well-known/oauth-protected-resource HTTP/1.1", Route::Metadata),
            ("GET /.well-known/oauth-protected-resource/mcp HTTP/1.1", Route::Metadata),
        ] {
            assert_eq!(route(line), Some(expected), "{line}");
        }
        for line in [
            "",
            "GET",
            "GET /mcp",
            "GET / HTTP/1.1",
            "GET /mcp/ HTTP/1.1",
            "GET /MCP HTTP/1.1",
            "GET //mcp HTTP/1.1",
            "GET /%6dcp HTTP/1.1",
            "GET /./mcp HTTP/1.1",
            "GET /mcp#x HTTP/1.1",
            "GET /mcp?x#y HTTP/1.1",
            "GET /mcp;x HTTP/1.1",
            "GET http://localhost/mcp HTTP/1.1",
            "GET  /mcp HTTP/1.1",
            "GET /mcp  HTTP/1.1",
            "GET\t/mcp HTTP/1.1",
            "GET /mcp HTTP/1.1 ",
            "GET /mcp HTTP/2.0",
            "GET /mcp http/1.1",
            "GET /mcp?\u{7f} HTTP/1.1",
            "GET /mcp?\u{e9} HTTP/1.1",
            "HEAD /mcp HTTP/1.1",
            "PUT /mcp HTTP/1.1",
            "OPTIONS * HTTP/1.1",
            "GET /tickets HTTP/1.1",
            "POST /tickets/ HTTP/1.1",
            "POST /vnc/ HTTP/1.1",
            "POST /websockify HTTP/1.1",
            "GET /websockify/ HTTP/1.1",
            "GET /healthz HTTP/1.1",
            "GET /.well-known/oauth-protected-resource/ HTTP/1.1",
        ] {
            assert_eq!(route(line), None, "{line}");
        }
        assert_eq!(Route::of_request_line(b"GET /mcp?\xff HTTP/1.1"), None);
    }
}
