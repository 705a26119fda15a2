//! The least length of a match of a pattern, for patterns that match parts of tokens only.

use std::iter::Peekable;
use std::str::Chars;

use super::token::is_of_token;

/// The least length of a match, if the pattern matches parts of tokens only; otherwise 0. A pattern may state what is
/// before and after the token: `(?:^|[…])` and `(?:$|[…])`.
pub fn least_length(pattern: &str) -> usize {
    let before = pattern.strip_prefix("(?:^|[").and_then(|rest| rest.split_once("])")).map(|(_, rest)| rest);
    let pattern = before.unwrap_or(pattern);
    let pattern = pattern.rsplit_once("(?:$|[").map_or(pattern, |(pattern, _)| pattern);
    let mut rest = Pattern(pattern.chars().peekable());
    let least = rest.alternatives();
    least.filter(|_| rest.0.peek().is_none()).unwrap_or(0)
}

/// What is left of a pattern. A method returns `None` for anything but parts of tokens.
struct Pattern<'a>(Peekable<Chars<'a>>);

impl Pattern<'_> {
    fn takes(&mut self, expected: char) -> bool {
        self.0.next_if_eq(&expected).is_some()
    }

    /// The least length of a match of alternatives.
    fn alternatives(&mut self) -> Option<usize> {
        let mut least = self.sequence()?;
        while self.takes('|') {
            least = least.min(self.sequence()?);
        }
        Some(least)
    }

    fn sequence(&mut self) -> Option<usize> {
        let mut length = 0;
        while !matches!(self.0.peek(), None | Some('|' | ')')) {
            let part = self.part()?;
            length += self.times()? * part;
        }
        Some(length)
    }

    /// A group, a class or a character.
    fn part(&mut self) -> Option<usize> {
        match self.0.next()? {
            '(' => {
                if self.takes('?') {
                    while self.0.next_if(|flag| ['i', '-'].contains(flag)).is_some() {}
                    if self.takes(')') {
                        return Some(0);
                    }
                    self.takes(':').then_some(())?;
                }
                let least = self.alternatives()?;
                self.takes(')').then_some(least)
            }
            '[' => loop {
                match self.0.next()? {
                    ']' => return Some(1),
                    part => Self::is_of_token(part).then_some(())?,
                }
            },
            '\\' => match self.0.next()? {
                'b' => Some(0),
                'w' => Some(1),
                part => (!part.is_ascii_alphanumeric() && Self::is_of_token(part)).then_some(1),
            },
            '^' | '$' => Some(0),
            '.' => None,
            part => Self::is_of_token(part).then_some(1),
        }
    }

    /// How often a part occurs at least.
    fn times(&mut self) -> Option<usize> {
        let least = match self.0.peek() {
            Some('?' | '*') => 0,
            Some('{') => {
                self.0.next();
                let mut number = 0;
                while let Some(digit) = self.0.next_if(char::is_ascii_digit) {
                    number = number * 10 + digit.to_digit(10)? as usize;
                }
                while self.0.next_if(|part| *part != '}').is_some() {}
                number
            }
            Some('+') => 1,
            _ => return Some(1),
        };
        self.0.next();
        Some(least)
    }

    fn is_of_token(part: char) -> bool {
        u8::try_from(part).is_ok_and(is_of_token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_length_of_a_token_follows_from_its_pattern() {
        for (pattern, least) in [
            (r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{32,}", 50),
            (r"\b(?:ab_[a-z]{3,5}|c(?:d|efg)?x)", 2),
            (r"(?:^|[^A-Z])([A-Z]{40})(?:$|[^A-Z])", 40),
            (r"(?i)\bAGE-1[0-9a-z]{20,}={0,2}", 25),
            (r"a\s*b", 0),
            (r"[^a]b", 0),
            (r"a.b", 0),
            (r"'a'", 0),
        ] {
            assert_eq!(least_length(pattern), least, "{pattern}");
        }
    }
}
