//! The program `browser-shell`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    browser_shell::cli::main()
}
