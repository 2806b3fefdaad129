//! Contents of the braces of a parent that holds at most one discipline.

use super::{ChildConfig, ChildrenConfig, text};
use crate::error::ConfigError;
use crate::params;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Settings of such a parent.
pub trait SingleParent: params::Config {
    /// Name of the parent.
    const NAME: &'static str;
    /// Example with braces, for errors.
    const EXAMPLE: &'static str;

    /// Rejects settings that need a child, or that must not have one.
    fn check_child(&self, has_child: bool) -> Result<(), ConfigError> {
        let _ = has_child;
        Ok(())
    }
}

/// Queue discipline in the braces of a [`SingleParent`].
#[derive(Clone, Debug, PartialEq)]
pub struct OnlyChild<H>(
    /// `None`: the parent's built-in queue.
    pub Option<Box<H>>,
);

impl<H> Default for OnlyChild<H> {
    fn default() -> Self {
        Self(None)
    }
}

impl<S: SingleParent, H: ChildConfig> ChildrenConfig<S> for OnlyChild<H> {
    type Child = H;
    const EXAMPLE: &'static str = S::EXAMPLE;

    fn read(text: &str, _: &S, names: H::Names<'_>) -> Result<Self, ConfigError> {
        match text::parts(text)?[..] {
            [] => Ok(Self(None)),
            [one] => Ok(Self(Some(Box::new(H::read(one, names)?)))),
            _ => Err(ConfigError::InvalidChild { parent: S::NAME, inside: text.into(), example: S::EXAMPLE.into() }),
        }
    }

    fn check(&self, settings: &S) -> Result<(), ConfigError> {
        settings.check_child(self.0.is_some())
    }

    fn spelling(&self) -> Option<String> {
        self.0.as_ref().map(|named| named.spelling())
    }

    fn children(&self) -> Vec<&H> {
        self.0.as_deref().map_or_else(Vec::new, |named| vec![named])
    }
}
