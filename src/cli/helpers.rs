//! Helpers: hidden first arguments by which this program starts itself again.

use std::io;

use crate::cli::process::{restrict_privileges, single_thread_executor};
use crate::session::reaper;
use browser_shell_agent_browser::sandbox::confine;
use browser_shell_agent_browser::sandbox::container::{init, relay};
use browser_shell_browser::display::helper as display;
use browser_shell_browser::launch::{external, helper as launch};
use browser_shell_system::os::reexec::{EXEC_FAILED, Helper};

/// All helpers.
pub(super) const HELPERS: &[Helper] = &[
    Helper {
        subcommand: confine::SUBCOMMAND,
        run: |arguments| match confine::run(arguments)? {},
        failure_code: EXEC_FAILED,
    },
    Helper {
        subcommand: launch::SUBCOMMAND,
        run: |arguments| match launch::run(arguments)? {},
        failure_code: EXEC_FAILED,
    },
    Helper {
        subcommand: display::SUBCOMMAND,
        run: |arguments| match display::run(arguments)? {},
        failure_code: EXEC_FAILED,
    },
    Helper {
        subcommand: external::SUBCOMMAND,
        run: |arguments| match external::run(arguments)? {},
        failure_code: EXEC_FAILED,
    },
    Helper { subcommand: init::SUBCOMMAND, run: |arguments| Ok(init::run(arguments)?), failure_code: 1 },
    Helper { subcommand: relay::SUBCOMMAND, run: |arguments| Ok(relay::run(arguments)?), failure_code: 1 },
    Helper {
        subcommand: reaper::SUBCOMMAND,
        run: |_| {
            restrict_privileges();
            Ok(single_thread_executor()?.block_on(reaper::run(io::stdin().lock()))?)
        },
        failure_code: 1,
    },
];
