//! Program `browser-shell`. The library holds everything else.

use std::process::ExitCode;

fn main() -> ExitCode {
    browser_shell::main()
}
