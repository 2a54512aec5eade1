//! The grammar: tokens to the first fault.

use super::token::Token;
use super::{At, Fault, NESTING};

type Check = Result<(), Fault>;

/// `Err` with the first fault of the script.
pub(super) fn recognise(tokens: &[(Token, At)]) -> Check {
    let mut reader = Reader { tokens, index: 0, depth: 0 };
    while *reader.token() != Token::End {
        reader.statement()?;
    }
    Ok(())
}

/// Binding strength of binary operators, weakest first.
const BINARY: &[&[&str]] = &[
    &["or"],
    &["and"],
    &["not"],
    &["==", "!=", "<", ">", "<=", ">=", "in", "not in"],
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "//", "%"],
];
const NOT: usize = 2;
const COMPARISON: usize = 3;

const ASSIGNMENTS: &[&str] = &["=", "+=", "-=", "*=", "/=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>="];

struct Reader<'t> {
    tokens: &'t [(Token, At)],
    index: usize,
    depth: u32,
}

impl<'t> Reader<'t> {
    fn token(&self) -> &'t Token {
        &self.tokens[self.index].0
    }

    fn at(&self) -> At {
        self.tokens[self.index].1
    }

    /// Moves on; stays at the last token, which is the end or a lexical error.
    fn advance(&mut self) {
        if self.index + 1 < self.tokens.len() {
            self.index += 1;
        }
    }

    fn is(&self, text: &str) -> bool {
        matches!(self.token(), Token::Sign(s) | Token::Keyword(s) if *s == text)
    }

    fn take(&mut self, text: &str) -> bool {
        let there = self.is(text);
        if there {
            self.advance();
        }
        there
    }

    fn fault(&self, message: String) -> Fault {
        fault_at(self.at(), message)
    }

    /// The current token is not what the grammar asks for here.
    fn unexpected(&self, wanted: &str) -> Fault {
        match self.token() {
            Token::Bad(message) => self.fault(message.clone()),
            Token::Reserved(word) => {
                self.fault(format!("got illegal token, want {wanted} (`{word}` is a reserved word)"))
            }
            token => self.fault(format!("got {token}, want {wanted}")),
        }
    }

    fn want(&mut self, text: &'static str) -> Check {
        if self.take(text) {
            return Ok(());
        }
        let quoted = text.chars().all(|c| !c.is_ascii_alphabetic());
        Err(self.unexpected(&if quoted { format!("'{text}'") } else { text.to_owned() }))
    }

    fn want_token(&mut self, wanted: &Token) -> Check {
        if self.token() != wanted {
            return Err(self.unexpected(&wanted.to_string()));
        }
        self.advance();
        Ok(())
    }

    fn name(&mut self) -> Check {
        match self.token() {
            Token::Name => {
                self.advance();
                Ok(())
            }
            Token::Bad(message) => Err(self.fault(message.clone())),
            Token::Reserved(word) => Err(self.fault(format!("not an identifier (`{word}` is a reserved word)"))),
            _ => Err(self.fault("not an identifier".to_owned())),
        }
    }

    /// Runs `part` one level deeper.
    fn nested(&mut self, part: impl FnOnce(&mut Self) -> Check) -> Check {
        self.deeper()?;
        let before = self.depth;
        part(self)?;
        self.depth = before - 1;
        Ok(())
    }

    /// One level more, until the surrounding [`Reader::nested`] ends.
    fn deeper(&mut self) -> Check {
        self.depth += 1;
        if self.depth > NESTING {
            return Err(Fault {
                at: self.at(),
                message: format!("script is nested more than {NESTING} levels deep"),
                last_word: true,
            });
        }
        Ok(())
    }

    // ---- statements ----

    fn statement(&mut self) -> Check {
        self.nested(|r| match r.token() {
            Token::Keyword("def") => {
                r.advance();
                r.name()?;
                r.want("(")?;
                r.parameters()?;
                r.want(")")?;
                r.want(":")?;
                r.suite()
            }
            Token::Keyword("if") => r.conditional(),
            Token::Keyword("for") => {
                r.advance();
                r.loop_variables()?;
                r.want("in")?;
                r.expression(false)?;
                r.want(":")?;
                r.suite()
            }
            Token::Keyword("while") => {
                r.advance();
                r.test()?;
                r.want(":")?;
                r.suite()
            }
            _ => r.simple_statement(),
        })
    }

    fn conditional(&mut self) -> Check {
        self.advance();
        loop {
            self.test()?;
            self.want(":")?;
            self.suite()?;
            if !self.take("elif") {
                break;
            }
            // the evaluator keeps each further branch inside the one before
            self.deeper()?;
        }
        if self.take("else") {
            self.want(":")?;
            self.suite()?;
        }
        Ok(())
    }

    fn suite(&mut self) -> Check {
        if *self.token() != Token::Newline {
            return self.simple_statement();
        }
        self.advance();
        self.want_token(&Token::Indent)?;
        while !matches!(self.token(), Token::Outdent | Token::End) {
            self.statement()?;
        }
        self.want_token(&Token::Outdent)
    }

    fn simple_statement(&mut self) -> Check {
        loop {
            self.small_statement()?;
            if !self.take(";") || matches!(self.token(), Token::Newline | Token::End) {
                break;
            }
        }
        if *self.token() == Token::End { Ok(()) } else { self.want_token(&Token::Newline) }
    }

    fn small_statement(&mut self) -> Check {
        match self.token() {
            Token::Keyword("return") => {
                self.advance();
                if matches!(self.token(), Token::End | Token::Newline) || self.is(";") {
                    return Ok(());
                }
                self.expression(false)
            }
            Token::Keyword("break" | "continue" | "pass") => {
                self.advance();
                Ok(())
            }
            Token::Keyword("load") => self.load(),
            _ => {
                self.expression(false)?;
                if matches!(self.token(), Token::Sign(s) if ASSIGNMENTS.contains(s)) {
                    self.advance();
                    self.expression(false)?;
                }
                Ok(())
            }
        }
    }

    fn load(&mut self) -> Check {
        let start = self.at();
        self.advance();
        let open = self.at();
        self.want("(")?;
        match self.token() {
            Token::Str => self.advance(),
            Token::Bad(message) => return Err(self.fault(message.clone())),
            _ => return Err(self.fault("first operand of load statement must be a string literal".to_owned())),
        }
        let mut symbols = 0;
        while !self.is(")") && *self.token() != Token::End {
            self.want(",")?;
            match self.token() {
                Token::Sign(")") => break,
                Token::Str => self.advance(),
                Token::Name => {
                    self.advance();
                    if !self.is("=") {
                        let message = "load operand must be \"name\" or localname=\"name\" (want '=' after the name)";
                        return Err(self.fault(message.to_owned()));
                    }
                    self.advance();
                    if *self.token() != Token::Str {
                        let message = "original name of loaded symbol must be quoted: localname=\"originalname\"";
                        return Err(self.fault(message.to_owned()));
                    }
                    self.advance();
                }
                Token::Bad(message) => return Err(self.fault(message.clone())),
                token => {
                    let message = format!("load operand must be \"name\" or localname=\"name\" (got {token})");
                    return Err(self.fault(message));
                }
            }
            symbols += 1;
        }
        self.want(")")?;
        if symbols == 0 {
            let at = if start.line == open.line { open } else { start };
            return Err(fault_at(at, "load statement must import at least 1 symbol".to_owned()));
        }
        Ok(())
    }

    /// Of a `def` or `lambda`, up to the `)` or `:`.
    fn parameters(&mut self) -> Check {
        let mut first = true;
        while !self.is(")") && !self.is(":") && *self.token() != Token::End {
            if !first {
                self.want(",")?;
                if self.is(")") || self.is(":") {
                    break;
                }
            }
            first = false;
            if self.take("**") {
                self.name()?;
            } else if self.take("*") {
                if *self.token() == Token::Name {
                    self.advance();
                }
            } else {
                self.name()?;
                if self.take("=") {
                    self.test()?;
                }
            }
        }
        Ok(())
    }

    // ---- expressions ----

    /// Ends a list of expressions.
    fn ends_list(&self) -> bool {
        match self.token() {
            Token::End | Token::Newline => true,
            Token::Sign(s) => matches!(*s, "=" | ")" | "]" | "}" | ";"),
            _ => false,
        }
    }

    /// A test or an unparenthesised tuple.
    fn expression(&mut self, in_brackets: bool) -> Check {
        self.test()?;
        self.more_tests(in_brackets)
    }

    /// `, test` as often as it is there.
    fn more_tests(&mut self, in_brackets: bool) -> Check {
        loop {
            let comma = self.at();
            if !self.take(",") {
                return Ok(());
            }
            if self.ends_list() {
                if in_brackets {
                    return Ok(());
                }
                return Err(fault_at(comma, "unparenthesized tuple with trailing comma".to_owned()));
            }
            self.test()?;
        }
    }

    fn test(&mut self) -> Check {
        self.nested(|r| {
            if r.take("lambda") {
                r.parameters()?;
                r.want(":")?;
                return r.test();
            }
            r.binary(0)?;
            let at = r.at();
            if r.take("if") {
                r.binary(0)?;
                if !r.take("else") {
                    if let Token::Bad(message) = r.token() {
                        return Err(r.fault(message.clone()));
                    }
                    return Err(fault_at(at, "conditional expression without else clause".to_owned()));
                }
                r.test()?;
            }
            Ok(())
        })
    }

    /// The condition of a comprehension: no `if … else …`.
    fn test_without_condition(&mut self) -> Check {
        if self.is("lambda") { self.test() } else { self.nested(|r| r.binary(0)) }
    }

    /// Operators that bind at least as strongly as `level`.
    fn binary(&mut self, level: usize) -> Check {
        if level == BINARY.len() {
            return self.nested(Self::operand);
        }
        if level == NOT {
            if self.take("not") {
                return self.nested(|r| r.binary(NOT));
            }
            return self.binary(level + 1);
        }
        let before = self.depth;
        self.binary(level + 1)?;
        let mut previous = None;
        while let Some(operator) = self.operator(level) {
            if level == COMPARISON
                && let Some(previous) = previous
            {
                let message = format!("{previous} does not associate with {operator} (use parens)");
                return Err(self.fault(message));
            }
            previous = Some(operator);
            self.advance();
            if operator == "not in" {
                self.want("in")?;
            }
            // the evaluator keeps the left side of a chain inside the right one
            self.deeper()?;
            self.binary(level + 1)?;
        }
        self.depth = before;
        Ok(())
    }

    /// The operator of this level at the current token; a `not` behind an operand begins `not in`.
    fn operator(&self, level: usize) -> Option<&'static str> {
        let (Token::Sign(here) | Token::Keyword(here)) = *self.token() else { return None };
        let here = if here == "not" { "not in" } else { here };
        BINARY[level].contains(&here).then_some(here)
    }

    fn operand(&mut self) -> Check {
        match self.token() {
            Token::Name | Token::Int | Token::Float | Token::Str | Token::Bytes => self.advance(),
            Token::Sign("[") => {
                self.advance();
                self.list()?;
            }
            Token::Sign("{") => {
                self.advance();
                self.dict()?;
            }
            Token::Sign("(") => {
                self.advance();
                if !self.take(")") {
                    self.expression(true)?;
                    self.want(")")?;
                }
            }
            Token::Sign("-" | "+" | "~") => {
                self.advance();
                return self.nested(Self::operand);
            }
            _ => return Err(self.unexpected("primary expression")),
        }
        self.suffixes()
    }

    /// Attributes, indexes and calls behind an operand.
    fn suffixes(&mut self) -> Check {
        loop {
            if self.take(".") {
                self.name()?;
            } else if self.take("[") {
                self.index()?;
            } else if self.take("(") {
                self.arguments()?;
            } else {
                return Ok(());
            }
            self.deeper()?;
        }
    }

    fn index(&mut self) -> Check {
        if !self.is(":") {
            self.expression(false)?;
            if self.take("]") {
                return Ok(());
            }
        }
        if self.take(":") && !self.is(":") && !self.is("]") {
            self.test()?;
        }
        if self.take(":") && !self.is("]") {
            self.test()?;
        }
        self.want("]")
    }

    fn arguments(&mut self) -> Check {
        let mut first = true;
        while !self.is(")") && *self.token() != Token::End {
            if !first {
                self.want(",")?;
                if self.is(")") {
                    break;
                }
            }
            first = false;
            if self.take("*") || self.take("**") {
                self.test()?;
                continue;
            }
            let start = self.index;
            self.test()?;
            if self.is("=") {
                if self.index != start + 1 || self.tokens[start].0 != Token::Name {
                    return Err(self.fault("keyword argument must have form name=expr".to_owned()));
                }
                self.advance();
                self.test()?;
            }
        }
        self.want(")")
    }

    fn list(&mut self) -> Check {
        if self.take("]") {
            return Ok(());
        }
        self.test()?;
        if self.is("for") {
            return self.comprehension("]");
        }
        self.more_tests(true)?;
        self.want("]")
    }

    fn dict(&mut self) -> Check {
        if self.take("}") {
            return Ok(());
        }
        self.dict_entry()?;
        if self.is("for") {
            return self.comprehension("}");
        }
        while self.take(",") {
            if self.is("}") {
                break;
            }
            self.dict_entry()?;
        }
        self.want("}")
    }

    fn dict_entry(&mut self) -> Check {
        self.test()?;
        self.want(":")?;
        self.test()
    }

    fn comprehension(&mut self, end: &'static str) -> Check {
        while !self.take(end) {
            if self.take("for") {
                self.loop_variables()?;
                self.want("in")?;
                self.nested(|r| r.binary(0))?;
            } else if self.take("if") {
                self.test_without_condition()?;
            } else {
                return Err(self.unexpected(&format!("'{end}', for, or if")));
            }
            self.deeper()?;
        }
        Ok(())
    }

    /// Between `for` and `in`: no operators, since `in` would be one.
    fn loop_variables(&mut self) -> Check {
        self.nested(Self::operand)?;
        while self.take(",") {
            if self.ends_list() {
                break;
            }
            self.nested(Self::operand)?;
        }
        Ok(())
    }
}

fn fault_at(at: At, message: String) -> Fault {
    Fault { at, message, last_word: false }
}
