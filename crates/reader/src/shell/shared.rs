//! A value that states of a shell share until one of them changes it. An empty one needs no memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::rc::Rc;

/// A type with a value that holds nothing.
pub(crate) trait Empty: Default + Clone + 'static {
    const EMPTY: &'static Self;
}

impl<T: Clone + 'static> Empty for Vec<T> {
    const EMPTY: &'static Self = &Self::new();
}

impl<T: Clone + 'static> Empty for BTreeSet<T> {
    const EMPTY: &'static Self = &Self::new();
}

impl<K: Clone + 'static, V: Clone + 'static> Empty for BTreeMap<K, V> {
    const EMPTY: &'static Self = &Self::new();
}

/// A shared value.
#[derive(Debug)]
pub(crate) struct Shared<T>(Option<Rc<T>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Empty> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty + PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Self::ptr_eq(self, other) || **self == **other
    }
}

impl<T: Empty> Shared<T> {
    pub fn new(value: T) -> Self {
        Self(Some(Rc::new(value)))
    }

    /// The value, to change it for this state alone.
    pub fn make_mut(this: &mut Self) -> &mut T {
        Rc::make_mut(this.0.get_or_insert_default())
    }

    /// Whether both are one value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        match (&this.0, &other.0) {
            (Some(one), Some(other)) => Rc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}
