//! Delays between starts of a program that does not keep running: Chromium, or the display.

use std::time::{Duration, Instant};

/// Maximum number of starts in a window; then there is a pause.
const MAX_STARTS: usize = 5;

const WINDOW: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_secs(30);

/// Delay before the second start of a window; it doubles before each further one. The cause of a failed start is often gone
/// after a moment, such as the last Chromium's hold on its port.
const FIRST_DELAY: Duration = Duration::from_millis(250);

/// Starts within the current window.
#[derive(Debug, Default)]
pub(crate) struct RecentStarts(Vec<Instant>);

/// Delay before the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delay {
    /// Short delay within a window.
    Short(Duration),
    /// Pause after too many starts.
    Pause(Duration),
}

impl RecentStarts {
    /// Records a start.
    pub(crate) fn record(&mut self) {
        self.0.push(Instant::now());
    }

    /// Forgets all starts.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the delay before the next start. A pause begins a new window.
    pub(crate) fn next_delay(&mut self) -> Delay {
        self.0.retain(|start| start.elapsed() < WINDOW);
        if self.0.len() >= MAX_STARTS {
            self.clear();
            return Delay::Pause(PAUSE);
        }
        Delay::Short(delay_after(self.0.len()))
    }
}

/// Returns the delay after a number of starts.
fn delay_after(starts: usize) -> Duration {
    let doublings = u32::try_from(starts.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_delay_grows_with_each_attempt() {
        let mut starts = RecentStarts::default();
        let delays: Vec<_> = (0..MAX_STARTS)
            .map(|_| {
                starts.record();
                starts.next_delay()
            })
            .collect();
        let short = |milliseconds| Delay::Short(Duration::from_millis(milliseconds));
        assert_eq!(delays, [short(250), short(500), short(1000), short(2000), Delay::Pause(PAUSE)]);
        starts.record();
        assert_eq!(starts.next_delay(), short(250), "a pause begins a new window");
        assert_eq!(delay_after(usize::MAX), PAUSE);
    }
}
