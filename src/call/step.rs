//! Steps of the pipeline.
//!
//! Steps have one interface for each side of the run, and form one ordered list.
//!
//! Requirement 1.13.

use futures::future::BoxFuture;

use crate::call::before::validate::Validate;
use crate::call::phases::{AnsweredCall, CallContext, ValidatedCall};
use browser_shell_core::decision::Decision;

/// A step before the run.
pub(super) trait BeforeStep: Send + Sync {
    /// Returns the name of the step, for the log.
    fn name(&self) -> &'static str;

    /// Checks or completes a call.
    ///
    /// # Errors
    ///
    /// A refusal. The remaining steps before the run and the run itself are skipped.
    fn before<'a>(
        &'a self,
        context: &'a mut CallContext,
        call: &'a mut ValidatedCall,
    ) -> BoxFuture<'a, Result<(), Decision>>;
}

/// A step after the run or after a refusal.
pub(super) trait AfterStep: Send + Sync {
    /// Checks or completes the reply.
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()>;
}

/// The ordered list of steps.
///
/// Validation is always the first one, since it creates the [`ValidatedCall`] that the others need.
pub(super) struct Steps {
    /// Validation of the request.
    pub validate: Validate,
    /// Steps between validation and the run.
    pub before: Vec<Box<dyn BeforeStep>>,
    /// Steps after the run.
    pub after: Vec<Box<dyn AfterStep>>,
}

impl Steps {
    /// Creates a list that consists of validation.
    pub(super) const fn new(validate: Validate) -> Self {
        Self { validate, before: Vec::new(), after: Vec::new() }
    }

    /// Appends a step before the run.
    pub(super) fn before(mut self, step: impl BeforeStep + 'static) -> Self {
        self.before.push(Box::new(step));
        self
    }

    /// Appends a step after the run.
    pub(super) fn after(mut self, step: impl AfterStep + 'static) -> Self {
        self.after.push(Box::new(step));
        self
    }
}
