//! Program `browser-shell`. The library holds everything else.

use std::process::ExitCode;

use dlmalloc::GlobalDlmalloc;

/// Allocator of all memory. musl's took a fifth of this program's time in a call.
#[global_allocator]
static ALLOCATOR: GlobalDlmalloc = GlobalDlmalloc;

fn main() -> ExitCode {
    browser_shell::main()
}
