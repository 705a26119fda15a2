//! The constructs of the grammar that generated programs contain.

use std::collections::BTreeSet;

use brush_parser::{ParserOptions, TokenizerOptions, word};

use crate::generator::program;

/// The types and variants of the parser's tree, of words and of arithmetic. Some that no program can contain are left out:
/// `TestExpr` is read from the words of `[`, `False` is its empty form, and the parser keeps a duplicated descriptor as a word.
const CONSTRUCTS: &str = "
    Program CompoundList CompoundListItem AndOrList And Or Pipeline Timed TimedWithPosixOutput
    Simple Compound Function ExtendedTest
    Arithmetic ArithmeticForClause BraceGroup Subshell ForClause CaseClause IfClause WhileClause UntilClause Coprocess
    ArithmeticCommand SubshellCommand ForClauseCommand ArithmeticForClauseCommand CaseClauseCommand IfClauseCommand ElseClause
    CoprocessCommand CaseItem ExitCase UnconditionallyExecuteNextCaseItem ContinueEvaluatingCases WhileOrUntilClauseCommand
    FunctionDefinition FunctionBody BraceGroupCommand DoGroupCommand SimpleCommand CommandPrefix CommandSuffix
    Async Sequence
    IoRedirect Word AssignmentWord ProcessSubstitution VariableName ArrayElementName Scalar Array
    RedirectList File HereDocument HereString OutputAndError
    Read Write Append ReadAndWrite Clobber DuplicateInput DuplicateOutput
    Filename Duplicate IoHereDocument
    Not Parenthesized UnaryTest BinaryTest
    FileExists FileExistsAndIsBlockSpecialFile FileExistsAndIsCharSpecialFile FileExistsAndIsDir FileExistsAndIsRegularFile
    FileExistsAndIsSetgid FileExistsAndIsSymlink FileExistsAndHasStickyBit FileExistsAndIsFifo FileExistsAndIsReadable
    FileExistsAndIsNotZeroLength FdIsOpenTerminal FileExistsAndIsSetuid FileExistsAndIsWritable FileExistsAndIsExecutable
    FileExistsAndOwnedByEffectiveGroupId FileExistsAndModifiedSinceLastRead FileExistsAndOwnedByEffectiveUserId
    FileExistsAndIsSocket ShellOptionEnabled ShellVariableIsSetAndAssigned ShellVariableIsSetAndNameRef StringHasZeroLength
    StringHasNonZeroLength
    FilesReferToSameDeviceAndInodeNumbers LeftFileIsNewerOrExistsWhenRightDoesNot LeftFileIsOlderOrDoesNotExistWhenRightDoes
    StringExactlyMatchesPattern StringDoesNotExactlyMatchPattern StringMatchesRegex StringContainsSubstring
    LeftSortsBeforeRight LeftSortsAfterRight ArithmeticEqualTo ArithmeticNotEqualTo ArithmeticLessThan
    ArithmeticLessThanOrEqualTo ArithmeticGreaterThan ArithmeticGreaterThanOrEqualTo
    Text SingleQuotedText AnsiCQuotedText DoubleQuotedSequence GettextDoubleQuotedSequence TildeExpansion ParameterExpansion
    CommandSubstitution BackquotedCommandSubstitution EscapeSequence ArithmeticExpression
    Home UserHome WorkingDir OldWorkingDir
    Positional Special Named NamedWithIndex NamedWithAllIndices
    AllPositionalParameters PositionalParameterCount LastExitStatus CurrentOptionFlags ProcessId LastBackgroundProcessId ShellName
    Parameter UseDefaultValues AssignDefaultValues IndicateErrorIfNullOrUnset UseAlternativeValue ParameterLength
    RemoveSmallestSuffixPattern RemoveLargestSuffixPattern RemoveSmallestPrefixPattern RemoveLargestPrefixPattern Substring
    Transform UppercaseFirstChar UppercasePattern LowercaseFirstChar LowercasePattern ReplaceSubstring VariableNames MemberKeys
    Prefix Suffix FirstOccurrence Anywhere
    CapitalizeInitial ExpandEscapeSequences PossiblyQuoteWithArraysExpanded PromptExpand Quoted ToAssignmentLogic
    ToAttributeFlags ToLowerCase ToUpperCase
    Literal Reference UnaryOp BinaryOp Conditional Assignment BinaryAssignment UnaryAssignment
    Power Multiply Divide Modulo Comma Add Subtract ShiftLeft ShiftRight LessThan LessThanOrEqualTo GreaterThan
    GreaterThanOrEqualTo Equals NotEquals BitwiseAnd BitwiseXor BitwiseOr LogicalAnd LogicalOr
    UnaryPlus UnaryMinus BitwiseNot LogicalNot PrefixIncrement PrefixDecrement PostfixIncrement PostfixDecrement
    Variable ArrayElement
";

/// How many programs are parsed.
const PROGRAMS: u64 = 2500;

#[test]
fn generated_programs_contain_every_construct_of_the_grammar() {
    let wanted: BTreeSet<String> = CONSTRUCTS.split_whitespace().map(str::to_owned).collect();
    let mut found = BTreeSet::new();
    let mut refused = Vec::new();
    for seed in 0..PROGRAMS {
        // The parser does not know `select` and empty conditions; the reader gives it a `for` and a condition that holds.
        let text = program(seed).text().replace("select ", "for ").replace("((;;))", "((;1;))");
        if !parse(&text, &mut found, 0) {
            refused.push(text);
        }
    }
    let missing: Vec<&String> = wanted.difference(&found).collect();
    let count = wanted.len() - missing.len();
    println!(
        "{count} of {} constructs, in {PROGRAMS} programs; the parser refuses {}",
        wanted.len(),
        refused.len()
    );
    println!("{}", wanted.intersection(&found).cloned().collect::<Vec<_>>().join(" "));
    refused.sort_by_key(String::len);
    refused.iter().take(5).for_each(|text| println!("refused: {text}"));
    assert!(missing.is_empty(), "no generated program contains {missing:?}");
    assert!(
        refused.len() * 50 < usize::try_from(PROGRAMS).unwrap(),
        "the parser refuses {} programs",
        refused.len()
    );
}

/// Adds the names of the types and variants in the tree of a text, of its words and of its arithmetic.
fn parse(text: &str, found: &mut BTreeSet<String>, depth: usize) -> bool {
    let tokens = TokenizerOptions { enable_extended_globbing: true, posix_mode: false, sh_mode: false };
    let Ok(tokens) = brush_parser::uncached_tokenize_str(text, &tokens) else { return false };
    let Ok(program) = brush_parser::parse_tokens(&tokens, &ParserOptions::default()) else { return false };
    names(&format!("{program:?}"), found, depth);
    true
}

/// The names in a tree that is printed with `{:?}`, and those in the texts of its strings.
fn names(printed: &str, found: &mut BTreeSet<String>, depth: usize) {
    let mut rest = printed;
    while let Some(start) = rest.find('"') {
        identifiers(&rest[..start], found);
        let mut escaped = false;
        let end = rest[start + 1..].find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let end = start + 1 + end.expect("a closed string");
        // As in JSON, apart from single quotes, which are not escaped there.
        let text = serde_json::from_str::<String>(&rest[start..=end].replace("\\'", "'"));
        if let Some(text) = text.ok().filter(|text| depth < 5 && !text.is_empty()) {
            inner(&text, found, depth);
        }
        rest = &rest[end + 1..];
    }
    identifiers(rest, found);
}

/// What a word, an arithmetic expression or the text of a substitution contains.
fn inner(text: &str, found: &mut BTreeSet<String>, depth: usize) {
    if let Ok(pieces) = word::parse(text, &ParserOptions::default()) {
        let printed = format!("{pieces:?}");
        // A plain text is the only piece of most words.
        if pieces.len() > 1 || !printed.contains("piece: Text") {
            names(&printed, found, depth + 1);
        } else {
            identifiers("Text", found);
        }
    }
    if let Ok(expression) = brush_parser::arithmetic::parse(text) {
        identifiers(&format!("{expression:?}"), found);
    }
    if text.contains([' ', ';', '\n']) {
        parse(text, found, depth + 1);
    }
}

fn identifiers(printed: &str, found: &mut BTreeSet<String>) {
    let names = printed.split(|c: char| !c.is_ascii_alphanumeric());
    found.extend(names.filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase())).map(str::to_owned));
}
