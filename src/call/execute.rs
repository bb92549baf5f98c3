//! Execution of one command of agent-browser in its session.

use std::time::Duration;

use browser_shell_core::grammar::Command;
use browser_shell_core::output::RawOutput;

use crate::agent_browser::Invocation;
use crate::call::options::OutputStyle;
use crate::call::phases::{CallContext, CompletedRun};
use crate::call::steps::run_steps;
use crate::call::time::COMMIT_TIME;
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Time for a command to end by itself after a dialog has opened.
const DIALOG_GRACE: Duration = Duration::from_millis(1500);

/// Runs the command by the transport and records in `run` how it ran. Returns `None` if a dialog keeps it from ending.
pub(super) async fn execute(
    context: &CallContext,
    command: &Command,
    lease: &Lease,
    timeout: Duration,
    run: &mut CompletedRun,
) -> Result<Option<RawOutput>, ExecError> {
    run.sandbox = Some(lease.sandbox().status().to_owned());
    if let Some(gate) = lease.gate() {
        gate.ignore_acts(command.is_list_of_tabs());
    }
    let lists_cursor_elements = context.output_style() == OutputStyle::Plain;
    let invocation = Invocation {
        session: lease.paths(),
        command,
        timeout,
        cancel: &context.cancel,
        state: lease.transport_state(),
        cdp_port: lease.sandbox().browser_port(),
        sandbox: lease.sandbox(),
    };
    let result = tokio::select! {
        biased;
        result = run_steps(&*context.services.transport, invocation, lists_cursor_elements) => result.map(Some),
        () = wait_for_dialog(lease) => Ok(None),
    };
    run.transport = lease.transport_state().take_transport();
    match (result, lease.gate().filter(|_| command.is_list_of_tabs())) {
        (Ok(Some(raw)), Some(gate)) => {
            let titles = gate.titles().await;
            Ok(Some(raw.with_tab_titles(|target| titles.get(target).cloned())))
        }
        (result, _) => result,
    }
}

/// Waits until a dialog keeps a command of agent-browser from ending.
pub(super) async fn wait_for_dialog(lease: &Lease) {
    wait_until_dialog(lease).await;
    // Most commands end by themselves, because the gate answers their input.
    tokio::time::sleep(DIALOG_GRACE).await;
}

/// Waits until the page answers nothing because the server of another one has to answer first.
pub(super) async fn wait_until_loading(lease: &Lease) {
    match lease.gate() {
        Some(gate) => gate.wait_until_loading().await,
        None => std::future::pending().await,
    }
}

/// Waits until the server of the page that an act has begun to load takes long to answer.
pub(super) async fn wait_until_slow(lease: &Lease) {
    loop {
        wait_until_loading(lease).await;
        tokio::time::sleep(COMMIT_TIME).await;
        if lease.gate().is_some_and(|gate| gate.is_loading()) {
            return;
        }
    }
}

/// Waits until a dialog keeps pages from answering.
pub(super) async fn wait_until_dialog(lease: &Lease) {
    match lease.gate() {
        Some(gate) => gate.wait_for_dialog().await,
        None => std::future::pending().await,
    }
}
