//! Variables by their names, in parts that states share as long as these are the same in both.

use std::cmp::Ordering;
use std::rc::Rc;

use super::shared::Empty;
use super::text::Origin;

/// Maximum number of variables in a part.
const LONGEST: usize = 24;

/// The value of a variable. Texts may contain marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Unset in the script.
    Unset,
    Scalar(String),
    /// Keys and values; the keys of an indexed array count from 0.
    Array(Vec<(String, String)>),
}

impl Value {
    /// What `$NAME` is: of an array its first element.
    pub fn text(&self) -> String {
        match self {
            Self::Unset => String::new(),
            Self::Scalar(text) => text.clone(),
            Self::Array(items) => items.first().map(|(_, text)| text.clone()).unwrap_or_default(),
        }
    }
}

/// A variable of the script.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    /// Its value; a text that stands for all of them where it has one of several.
    pub value: Value,
    pub origin: Origin,
    pub exported: bool,
    /// What branches may have left behind, `None` where it is not set; only where these are several.
    pub choices: Option<Rc<Vec<Option<Variable>>>>,
}

impl Variable {
    /// A variable with this value, which is not exported.
    pub fn of(value: Value, origin: Origin) -> Self {
        Self { value, origin, exported: false, choices: None }
    }

    /// Whether both have the same value, or one of the same values.
    pub fn is_like(&self, other: &Self) -> bool {
        self.exported == other.exported
            && match (&self.choices, &other.choices) {
                (None, None) => self.value == other.value,
                (Some(ours), Some(theirs)) => {
                    ours.len() == theirs.len()
                        && ours
                            .iter()
                            .all(|one| theirs.iter().any(|other| is_same(one.as_ref(), other.as_ref())))
                }
                _ => false,
            }
    }
}

/// Whether both states of a variable are the same.
pub(crate) fn is_same(one: Option<&Variable>, other: Option<&Variable>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.is_like(other),
        _ => false,
    }
}

/// Variables in the order of their names. A change copies one part, and a comparison skips those that are shared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    /// No part is empty.
    parts: Vec<Rc<Part>>,
}

impl Empty for Variables {
    const EMPTY: &'static Self = &Self { parts: Vec::new() };
}

type Part = Vec<(Rc<str>, Rc<Variable>)>;

impl Variables {
    /// The index of the part for a name, and where the name is in it, or would be.
    fn find(&self, name: &str) -> (usize, Result<usize, usize>) {
        let is_before = |part: &Rc<Part>| part.first().is_some_and(|(first, _)| **first <= *name);
        let index = self.parts.partition_point(is_before).saturating_sub(1);
        let find = |part: &Rc<Part>| part.binary_search_by(|(known, _)| (**known).cmp(name));
        (index, self.parts.get(index).map_or(Err(0), find))
    }

    pub fn get(&self, name: &str) -> Option<&Rc<Variable>> {
        let (index, at) = self.find(name);
        self.parts.get(index)?.get(at.ok()?).map(|(_, variable)| variable)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Rc<Variable>> {
        let (index, at) = self.find(name);
        let at = at.ok()?;
        Rc::make_mut(self.parts.get_mut(index)?).get_mut(at).map(|(_, variable)| variable)
    }

    pub fn insert(&mut self, name: &str, variable: Rc<Variable>) {
        let (index, at) = self.find(name);
        if self.parts.is_empty() {
            self.parts.push(Rc::default());
        }
        let Some(part) = self.parts.get_mut(index).map(Rc::make_mut) else { return };
        match at.map(|at| part.get_mut(at)) {
            Ok(Some((_, old))) => *old = variable,
            Ok(None) => {}
            Err(at) => part.insert(at, (name.into(), variable)),
        }
        if part.len() > LONGEST {
            let rest = part.split_off(LONGEST / 2);
            self.parts.insert(index + 1, Rc::new(rest));
        }
    }

    pub fn remove(&mut self, name: &str) {
        let (index, at) = self.find(name);
        let (Ok(at), Some(part)) = (at, self.parts.get_mut(index)) else { return };
        let part = Rc::make_mut(part);
        part.remove(at);
        if part.is_empty() {
            self.parts.remove(index);
        }
    }

    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Rc<str>, &Rc<Variable>)> {
        self.parts.iter().flat_map(|part| part.iter().map(|(name, variable)| (name, variable)))
    }

    /// The names of the variables that others have differently.
    pub fn differing(&self, others: &Self) -> Vec<Rc<str>> {
        let (mut ours, mut theirs) = (Rest::of(self), Rest::of(others));
        let mut names = Vec::new();
        loop {
            if let (Some(our), Some(their)) = (ours.whole_part(), theirs.whole_part())
                && Rc::ptr_eq(our, their)
            {
                ours.skip_part();
                theirs.skip_part();
                continue;
            }
            let order = match (ours.peek(), theirs.peek()) {
                (Some((our, _)), Some((their, _))) => our.cmp(their),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return names,
            };
            let our = if order == Ordering::Greater { None } else { ours.next() };
            let their = if order == Ordering::Less { None } else { theirs.next() };
            match (our, their) {
                (Some((_, our)), Some((_, their))) if Rc::ptr_eq(our, their) || our.is_like(their) => {}
                _ => names.extend(our.or(their).map(|(name, _)| Rc::clone(name))),
            }
        }
    }
}

impl<'v> FromIterator<(&'v Rc<str>, &'v Rc<Variable>)> for Variables {
    fn from_iter<I: IntoIterator<Item = (&'v Rc<str>, &'v Rc<Variable>)>>(items: I) -> Self {
        let mut variables = Self::default();
        for (name, variable) in items {
            variables.insert(name, Rc::clone(variable));
        }
        variables
    }
}

/// The variables from one on.
struct Rest<'v> {
    parts: &'v [Rc<Part>],
    at: usize,
}

impl<'v> Rest<'v> {
    fn of(variables: &'v Variables) -> Self {
        Self { parts: &variables.parts, at: 0 }
    }

    fn whole_part(&self) -> Option<&'v Rc<Part>> {
        self.parts.first().filter(|_| self.at == 0)
    }

    fn skip_part(&mut self) {
        (self.parts, self.at) = (self.parts.get(1..).unwrap_or_default(), 0);
    }

    fn peek(&self) -> Option<&'v (Rc<str>, Rc<Variable>)> {
        self.parts.first()?.get(self.at)
    }

    fn next(&mut self) -> Option<&'v (Rc<str>, Rc<Variable>)> {
        let next = self.peek();
        self.at += 1;
        if self.peek().is_none() {
            self.skip_part();
        }
        next
    }
}
