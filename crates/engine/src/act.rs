//! Acts on elements: found, checked, done, and read back.

use std::sync::Arc;
use std::time::Instant;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Act, Effect, Verb, effect};
use browser_shell_core::output::DOUBT;
use serde_json::Value;

use crate::find::{Found, SearchResult, find, ready};
use crate::job::{Carried, INTERVAL, Job, Outcome, READY_TIME, ask_page};
use browser_shell_browser::gate::GateSession;

/// Number of times that an effect is read before it counts as none: pages may show it a moment later.
const READS: usize = 4;

/// The same for a box, which many pages check only when their server has agreed. A second press would undo that.
const BOX_READS: usize = 15;

/// Doubt about a text that was filled in.
const LISTENS_TO_KEYS: &str = "the page may listen to keys here, which `type` sends";

/// Carries out an act on the element of a selector.
pub(super) async fn on_element(job: &Job<'_>, act: &Act, selector: &str, other: Option<&str>) -> Carried {
    let (found, shown) = tokio::join!(find(job, act, selector, other), job.gate.wait_until_shown());
    if let Err(error) = shown {
        return Outcome::Failed(error.into()).into();
    }
    let mut found = match found {
        Ok(SearchResult::Found(found)) => found,
        Ok(SearchResult::Answered(data)) => return Outcome::Done(data).into(),
        Err(decision) => return Outcome::Failed(decision).into(),
    };
    match found.carry_out(job, act).await {
        Ok(data) => found.read_back(job.gate, act, data).await,
        Err(decision) => Outcome::Failed(decision).into(),
    }
}

impl Found {
    /// Carries out the act. It is made again if its press was kept from what covers the element.
    async fn carry_out(&mut self, job: &Job<'_>, act: &Act) -> Result<Value, Decision> {
        let until = job.until(READY_TIME);
        loop {
            let acted = self.handle.act(act, &self.view, self.other.as_ref()).await;
            match acted {
                Err(decision)
                    if decision.code == Code::ElementCovered && act.verb.is_press() && Instant::now() < until => {}
                Ok(picture) if act.verb == Verb::Picture => return job.write_file(&picture),
                acted => return acted,
            }
            tokio::time::sleep(INTERVAL).await;
            let seen = self.handle.look(act.verb, None).await?;
            self.view = ready(act, &self.handle, seen, until).await?;
        }
    }

    /// Reads what the act did, and meanwhile the secrets of the pages.
    async fn read_back(&self, gate: &Arc<GateSession>, act: &Act, mut data: Value) -> Carried {
        if !has_effect(act.verb) {
            return Outcome::Done(data).into();
        }
        let read = async { tokio::join!(biased; self.effect(act), gate.secrets()) };
        let Some((effect, secrets)) = ask_page(gate, read).await else { return Outcome::Done(data).into() };
        let mut add = |name: &str, value: String| {
            if let Some(members) = data.as_object_mut() {
                members.insert(name.to_owned(), value.into());
            }
        };
        match effect {
            Effect::Done => Carried { outcome: Outcome::Done(data), secrets: secrets.ok() },
            // The secrets are read again for an answer that shows what a field holds, because they could be older than this.
            Effect::Holds(value) => {
                if !value.is_empty() {
                    add("holds", value);
                }
                Outcome::Done(data).into()
            }
            Effect::Unclear(doubt) => {
                add(DOUBT, doubt);
                Outcome::Done(data).into()
            }
            Effect::None(decision) => Outcome::Failed(decision).into(),
        }
    }

    /// Reads the effect of the act. An element that is gone, or a tab with a dialog, reports none.
    async fn effect(&self, act: &Act) -> Effect {
        let (mut last, mut has_changed_page) = (Effect::Done, false);
        let secrets = self.handle.secrets();
        let reads = if matches!(act.verb, Verb::Check | Verb::Uncheck) { BOX_READS } else { READS };
        for number in 0..reads {
            if number > 0 {
                tokio::time::sleep(INTERVAL).await;
            }
            if !self.handle.is_readable() {
                return Effect::Done;
            }
            let Ok(state) = self.handle.state_after_act().await else { return Effect::Done };
            has_changed_page = state.taken.has_changed_page;
            last = effect(act, &self.view.state, &state, &secrets);
            // A page may show the effect in parts.
            if !matches!(last, Effect::None(_) | Effect::Unclear(_)) {
                break;
            }
        }
        match last {
            Effect::Done if act.verb == Verb::Fill && !has_changed_page && self.handle.listens_to_keys().await => {
                Effect::Unclear(LISTENS_TO_KEYS.to_owned())
            }
            last => last,
        }
    }
}

/// Returns true if the effect of an act can be read.
const fn has_effect(verb: Verb) -> bool {
    matches!(verb, Verb::Fill | Verb::Type | Verb::Check | Verb::Uncheck | Verb::Select | Verb::Focus)
}
