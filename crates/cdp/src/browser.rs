//! Version, id and flags of a browser with a debugging port.

use crate::error::BrowserError;
use crate::port::DebugPort;
use crate::protocol::browser::GetInfo;

/// Chromium with its debugging port on 127.0.0.1.
#[derive(Debug)]
pub struct DebuggedBrowser {
    port: DebugPort,
}

impl DebuggedBrowser {
    /// Returns the browser on a port, without connecting to it.
    #[must_use]
    pub fn new(port: u16) -> Self {
        Self { port: DebugPort(port) }
    }

    /// Returns the browser's name and version.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer.
    pub async fn version(&self) -> Result<String, BrowserError> {
        let name = self.port.version().await?.browser;
        name.ok_or_else(|| self.port.not_a_browser(&"it does not report its version"))
    }

    /// Returns the browser's id, which differs between two starts.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer, or does not report its id.
    pub async fn instance(&self) -> Result<String, BrowserError> {
        let version = self.port.version().await?;
        let id = version.web_socket_debugger_url.rsplit('/').next().filter(|id| !id.is_empty());
        id.map(str::to_owned).ok_or_else(|| self.port.not_a_browser(&"it does not report its id"))
    }

    /// Returns the flags that the browser was started with, on one line.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer, or does not report its flags.
    pub async fn flags(&self) -> Result<String, BrowserError> {
        let info = self.port.command(&GetInfo {}).await?;
        info.map(|info| info.command_line).ok_or_else(|| self.port.not_a_browser(&"it does not report its flags"))
    }
}
