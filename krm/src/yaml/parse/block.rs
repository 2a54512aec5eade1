//! Block collections: by indentation.
use super::super::error::Scan;
use super::super::token::{Token, TokenKind};
use super::{Expect, Parser};

impl Parser<'_> {
    /// Reads the node behind a `-`.
    fn entry_node(&mut self, entry: Token, ends: &[TokenKind]) -> Scan<()> {
        let head = self.pending.head.len();
        self.skip();
        let token = self.peek()?;
        if head > 0 && matches!(token.kind, TokenKind::SequenceStart | TokenKind::MappingStart) {
            // What stood above the `-` belongs to the collection, the rest to what is first in it.
            let all = &mut self.pending.head;
            self.stem = Some(all[..head].into());
            all.drain(..(head + 1).min(all.len()));
        }
        if ends.contains(&token.kind) {
            self.empty(entry.end);
            return Ok(());
        }
        self.node(true, false)
    }

    pub(super) fn entry(&mut self) -> Scan<()> {
        let token = self.peek()?;
        match token.kind {
            TokenKind::Entry => self.entry_node(token, &[TokenKind::Entry, TokenKind::BlockEnd]),
            TokenKind::BlockEnd => {
                self.skip();
                self.close(None)
            }
            _ => self.fail(token, "did not find expected '-' indicator"),
        }
    }

    pub(super) fn indentless_entry(&mut self) -> Scan<()> {
        let token = self.peek()?;
        if token.kind == TokenKind::Entry {
            let ends = [TokenKind::Entry, TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
            return self.entry_node(token, &ends);
        }
        self.close(None)
    }

    pub(super) fn reads_key(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.reads_key = true;
        }
    }

    pub(super) fn key(&mut self) -> Scan<()> {
        let token = self.peek()?;
        match token.kind {
            TokenKind::Key => {
                self.skip();
                self.reads_key();
                self.expect(Expect::Value);
                let next = self.peek()?;
                if matches!(next.kind, TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd) {
                    self.empty(token.end);
                    return Ok(());
                }
                self.node(true, true)
            }
            TokenKind::BlockEnd => {
                let comments = self.take_pending();
                self.skip();
                self.close(Some(comments))
            }
            _ => self.fail(token, "did not find expected key"),
        }
    }

    pub(super) fn value(&mut self) -> Scan<()> {
        let token = self.peek()?;
        self.expect(Expect::Key);
        if token.kind != TokenKind::Value {
            self.empty(self.last_end);
            return Ok(());
        }
        self.skip();
        let next = self.peek()?;
        if matches!(next.kind, TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd) {
            self.empty(token.end);
            return Ok(());
        }
        self.node(true, true)
    }
}
