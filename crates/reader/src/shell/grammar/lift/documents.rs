//! Moves here-documents out of the text.

use super::super::error::SyntaxError;
use super::super::here::{HereDocument, Pending, body, delimiter};
use super::{BROKEN, Frame, Place, Scanner};
use crate::shell::marks::DOCUMENT;

/// How far before `<<` a subscript around it is looked for, in characters.
const FARTHEST: usize = 4096;

impl Scanner<'_> {
    /// At `<<`, with or without a dash.
    pub(super) fn here_document(&mut self, documents: &mut Vec<HereDocument>) -> Result<(), SyntaxError> {
        if self.is_in_subscript() {
            return Err(SyntaxError::ShiftInSubscript);
        }
        let rest = self.rest().get(2..).unwrap_or_default();
        let tabs = rest.starts_with('-');
        let after = rest.get(usize::from(tabs)..).unwrap_or_default();
        let word = after.trim_start_matches([' ', '\t']);
        let (delimiter, len, quoted) = delimiter(word)?;
        let begin = self.text.len() - word.len();
        if let Some(at) = word.get(..len + BROKEN.len()).unwrap_or(word).find(BROKEN) {
            self.broken = Some(begin + at);
            return Ok(());
        }
        if len == 0 {
            return Err(SyntaxError::NoDelimiter);
        }
        self.at += 2 + usize::from(tabs) + (after.len() - word.len()) + len;
        let number = documents.len();
        documents.push(HereDocument { body: String::new(), expands: !quoted });
        self.pending.push(Pending { number, delimiter, tabs, depth: self.depth() });
        let in_substitution =
            |frame: &Frame| matches!(frame, Frame::Code { close: Some(')'), place: Place::Substitution, .. });
        self.dropped = self.dropped.max(u8::from(self.frames.iter().any(in_substitution)));
        if self.out.ends_with('<') {
            self.out.push(' ');
        }
        self.out.extend(["<<<", &format!("{DOCUMENT}{number}{DOCUMENT}"), " "]);
        self.word_start = true;
        Ok(())
    }

    /// Whether `<<` is a shift in the subscript of a variable: `x[1<<2]=a`, `x=([1<<2]=a)`.
    fn is_in_subscript(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        let mut closed = 0_usize;
        for (at, c) in before.char_indices().rev().take(FARTHEST) {
            match c {
                ']' => closed += 1,
                '[' if closed == 0 => {
                    let name = before.get(..at).and_then(|before| before.chars().next_back());
                    return name.is_some_and(|c| c.is_alphanumeric() || c == '_')
                        || matches!(self.frames.last(), Some(Frame::Code { place: Place::Array, .. }));
                }
                '[' => closed -= 1,
                _ => {}
            }
        }
        false
    }

    /// The number of substitutions around this place.
    fn depth(&self) -> usize {
        let is_substitution =
            |frame: &&Frame| matches!(frame, Frame::Code { place: Place::Substitution, .. });
        self.frames.iter().filter(is_substitution).count()
    }

    /// At a line break between commands: the bodies of pending here-documents follow, those of an inner substitution first. A
    /// document that is pending outside of a substitution has its body behind the end of the substitution.
    pub(super) fn line_break(&mut self, documents: &mut [HereDocument]) -> Result<(), SyntaxError> {
        self.copy(1);
        self.begin(true);
        let nested = self.frames.len() > 1;
        let depth = self.depth();
        let mut pending: Vec<Pending> =
            self.pending.extract_if(.., |pending| pending.depth >= depth).collect();
        self.dropped = if pending.is_empty() || self.dropped == 0 { 0 } else { 2 };
        if !pending.is_empty() && matches!(self.frames.last(), Some(Frame::Code { place: Place::Array, .. }))
        {
            return Err(SyntaxError::DocumentInArray);
        }
        pending.sort_by_key(|pending| std::cmp::Reverse(pending.depth));
        for pending in pending {
            let expands = documents.get(pending.number).is_some_and(|document| document.expands);
            let (body, len) = body(self.rest(), &pending, nested, expands);
            self.at += len;
            if let Some(document) = documents.get_mut(pending.number) {
                document.body = body;
            }
        }
        Ok(())
    }
}
