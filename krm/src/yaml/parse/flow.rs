//! Flow collections: `[…]` and `{…}`.
use super::super::error::Scan;
use super::super::token::TokenKind;
use super::super::tree::{Kind, Style};
use super::{Expect, Parser, Properties};

impl Parser<'_> {
    fn flow_end(&mut self) -> Scan<()> {
        let comments = self.take_pending();
        self.skip();
        self.close(Some(comments))
    }

    pub(super) fn flow_entry(&mut self, first: bool) -> Scan<()> {
        let mut token = self.peek()?;
        if token.kind != TokenKind::FlowSequenceEnd {
            if !first {
                if token.kind != TokenKind::FlowEntry {
                    return self.fail(token, "did not find expected ',' or ']'");
                }
                self.skip();
                token = self.peek()?;
            }
            self.expect(Expect::FlowEntry { first: false });
            if token.kind == TokenKind::Key {
                let props = Properties::default();
                self.open(Kind::Mapping, Style::Flow, token.mark(), token, props, Expect::PairKey)?;
                self.skip();
                return Ok(());
            }
            if token.kind != TokenKind::FlowSequenceEnd {
                return self.node(false, false);
            }
        }
        self.flow_end()
    }

    pub(super) fn pair_key(&mut self) -> Scan<()> {
        let token = self.peek()?;
        self.reads_key();
        self.expect(Expect::PairValue);
        if matches!(token.kind, TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
            self.empty(self.last_end);
            return Ok(());
        }
        self.node(false, false)
    }

    pub(super) fn pair_value(&mut self) -> Scan<()> {
        let token = self.peek()?;
        self.expect(Expect::PairEnd);
        if token.kind == TokenKind::Value {
            self.skip();
            let next = self.peek()?;
            if !matches!(next.kind, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                return self.node(false, false);
            }
        }
        self.empty(self.last_end);
        Ok(())
    }

    pub(super) fn flow_key(&mut self, first: bool) -> Scan<()> {
        let mut token = self.peek()?;
        if token.kind != TokenKind::FlowMappingEnd {
            if !first {
                if token.kind != TokenKind::FlowEntry {
                    return self.fail(token, "did not find expected ',' or '}'");
                }
                self.skip();
                token = self.peek()?;
            }
            self.expect(Expect::FlowKey { first: false });
            if token.kind == TokenKind::Key {
                self.skip();
                let next = self.peek()?;
                self.reads_key();
                self.expect(Expect::FlowValue);
                if matches!(next.kind, TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                    self.empty(self.last_end);
                    return Ok(());
                }
                return self.node(false, false);
            }
            if token.kind != TokenKind::FlowMappingEnd {
                self.reads_key();
                self.expect(Expect::FlowNoValue);
                return self.node(false, false);
            }
        }
        self.flow_end()
    }

    pub(super) fn flow_value(&mut self) -> Scan<()> {
        let token = self.peek()?;
        self.expect(Expect::FlowKey { first: false });
        if token.kind == TokenKind::Value {
            self.skip();
            let next = self.peek()?;
            if !matches!(next.kind, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                return self.node(false, false);
            }
        }
        self.empty(self.last_end);
        Ok(())
    }
}
