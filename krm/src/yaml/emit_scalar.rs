//! Scalars of the kpt-style emitter: which style a text can have, and how it is written.

use super::emit::{Context, Emitter};
use super::{NodeId, Style};

/// What the text of a scalar allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "five independent questions about one text")]
struct Allowed {
    /// Plain in a flow collection.
    plain_in_flow: bool,
    /// Plain outside of flow collections.
    plain_in_block: bool,
    single_quoted: bool,
    /// Literal or folded.
    block: bool,
}

impl Emitter<'_, '_> {
    /// Anchor and tag of a node.
    pub(super) fn properties(&mut self, id: NodeId) {
        let tree = self.tree;
        if let Some(anchor) = tree.anchor(id) {
            self.indicator("&", true, false, false);
            self.text(anchor);
        }
        let merge = is_merge_key(self, id);
        if let Some(tag) = tree.tag(id).filter(|t| *t != "!").or(merge.then_some("!!merge")) {
            if !self.whitespace {
                self.out.push(' ');
            }
            write_tag(tag, self.out);
            self.whitespace = false;
            self.indention = false;
        }
    }

    /// Writes a scalar with its anchor and tag.
    pub(super) fn scalar(&mut self, id: NodeId, context: Context) {
        let tree = self.tree;
        let text = tree.text(id);
        let flow = self.flow_level > 0;
        let forced = tree.is_forced_string(id) && tree.tag(id).is_none();
        let mut style = tree.style(id);
        if forced || matches!(style, Style::Block | Style::Flow) {
            style = Style::Plain;
        }
        self.properties(id);
        if style == Style::Plain && !forced && plain_at_a_glance(text.as_bytes(), flow) {
            if !self.whitespace {
                self.out.push(' ');
            }
            self.text(text);
            return;
        }
        if style == Style::Plain {
            if text.contains('\n') {
                style = Style::Literal;
            } else if forced && reads_as_another_type(text) {
                style = Style::DoubleQuoted;
            }
        }
        if context.simple_key && has_break(text) {
            style = Style::DoubleQuoted;
        }
        let allowed = if style == Style::DoubleQuoted { None } else { Some(analyse(text, self.as_kpt)) };
        if let Some(allowed) = allowed {
            if style == Style::Plain {
                let plain = if flow { allowed.plain_in_flow } else { allowed.plain_in_block };
                if text.is_empty() && (flow || context.simple_key) && !forced && tree.tag(id).is_none() {
                    // Nothing at all reads as null in block context only; go-yaml writes '' here and changes the value.
                    self.indicator("null", true, false, false);
                    return;
                }
                if !plain || (text.is_empty() && (flow || context.simple_key)) {
                    style = Style::SingleQuoted;
                }
            }
            if style == Style::SingleQuoted && !allowed.single_quoted {
                style = Style::DoubleQuoted;
            }
            if matches!(style, Style::Literal | Style::Folded) && (!allowed.block || flow || context.simple_key) {
                style = Style::DoubleQuoted;
            }
        }
        let outer = self.indent;
        self.indent = self.deeper(context.element, true);
        match style {
            Style::SingleQuoted => self.single_quoted(text),
            Style::DoubleQuoted => {
                self.indicator("\"", true, false, false);
                write_double_quoted(text, self.out);
                self.text("\"");
            }
            Style::Literal => self.literal(text),
            Style::Folded => self.folded(text),
            Style::Plain | Style::Block | Style::Flow => {
                if !text.is_empty() {
                    if !self.whitespace {
                        self.out.push(' ');
                    }
                    self.text(text);
                }
                self.indention = false;
            }
        }
        self.indent = outer;
    }

    fn single_quoted(&mut self, text: &str) {
        self.indicator("'", true, false, false);
        let mut after_break = false;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if is_break(c) {
                if !after_break && c == '\n' {
                    self.line_break();
                }
                self.value_break(c);
                after_break = true;
                rest = &rest[c.len_utf8()..];
            } else {
                if after_break {
                    self.write_indent();
                }
                let end = break_at(rest);
                push_doubling_quotes(self.out, &rest[..end]);
                self.indention = false;
                after_break = false;
                rest = &rest[end..];
            }
        }
        self.text("'");
    }

    /// A line break that belongs to the text.
    fn value_break(&mut self, c: char) {
        if c == '\n' {
            self.line_break();
        } else {
            self.out.push(c);
            self.line_start = self.out.len();
            self.indention = true;
        }
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        self.block_header(text);
        let mut after_break = true;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if is_break(c) {
                self.value_break(c);
                after_break = true;
                rest = &rest[c.len_utf8()..];
            } else {
                if after_break {
                    self.write_indent();
                }
                let end = break_at(rest);
                self.out.push_str(&rest[..end]);
                self.indention = false;
                after_break = false;
                rest = &rest[end..];
            }
        }
    }

    fn folded(&mut self, text: &str) {
        self.indicator(">", true, false, false);
        self.block_header(text);
        // For kpt the first character of the text that is no break decides about all breaks.
        let set_apart = text.chars().find(|c| !is_break(*c)).is_some_and(|c| c != ' ' && c != '\t');
        let mut after_break = true;
        let mut indented = true;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if is_break(c) {
                if !after_break && !indented && c == '\n' && self.needs_blank_line(rest, set_apart) {
                    self.line_break();
                }
                self.value_break(c);
                after_break = true;
                rest = &rest[c.len_utf8()..];
            } else {
                if after_break {
                    self.write_indent();
                    indented = matches!(c, ' ' | '\t');
                }
                let end = break_at(rest);
                self.out.push_str(&rest[..end]);
                self.indention = false;
                after_break = false;
                rest = &rest[end..];
            }
        }
    }

    /// In a folded scalar, behind a line that is not indented further: a single break would read as a space. `rest`
    /// starts with the break.
    fn needs_blank_line(&self, rest: &str, set_apart: bool) -> bool {
        if self.as_kpt {
            return set_apart;
        }
        // Breaks at the end are kept as they are, and so are those before a line that is indented further.
        rest.chars().find(|c| !is_break(*c)).is_some_and(|c| c != ' ' && c != '\t')
    }

    /// Indentation and chomping indicators, then the comment behind them and the line break.
    fn block_header(&mut self, text: &str) {
        // A tab in front is refused without the indicator; kpt leaves it out and cannot read its own file.
        if text.starts_with(|c| matches!(c, ' ' | '\t') || is_break(c)) {
            self.text("2");
        }
        let mut from_the_end = text.chars().rev().map(is_break);
        match (from_the_end.next(), from_the_end.next()) {
            (Some(true), Some(false)) => {}
            (Some(true), _) => self.text("+"),
            _ => self.text("-"),
        }
        if self.pending.line.is_some() {
            self.write_line();
        } else {
            self.line_break();
        }
        self.whitespace = true;
    }
}

/// A plain, untagged `<<` as a key is written with its tag, as go-yaml does.
fn is_merge_key(emitter: &Emitter<'_, '_>, id: NodeId) -> bool {
    let tree = emitter.tree;
    tree.is_scalar(id) && tree.style(id) == Style::Plain && !tree.is_forced_string(id) && tree.text(id) == "<<"
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub(super) fn has_break(text: &str) -> bool {
    // One pass without a branch for each byte; what may begin a break outside ASCII is looked at again.
    let odd = text.bytes().map(|b| u8::from(matches!(b, b'\n' | b'\r' | 0x80..))).max();
    odd == Some(1) && text.contains(is_break)
}

fn break_at(text: &str) -> usize {
    if let Some(at) = text.bytes().position(|b| b == b'\n' || b == b'\r' || b == 0xC2 || b == 0xE2) {
        if text.as_bytes()[at] < 0x80 {
            return at;
        }
        return text.find(is_break).unwrap_or(text.len());
    }
    text.len()
}

/// What libyaml counts as printable; everything else is escaped.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}') && c != '\u{FEFF}'
}

fn push_doubling_quotes(out: &mut String, text: &str) {
    for (n, part) in text.split('\'').enumerate() {
        if n > 0 {
            out.push_str("''");
        }
        out.push_str(part);
    }
}

/// Bytes that never matter inside a plain scalar.
const HARMLESS: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = b'!';
    while b <= b'~' {
        table[b as usize] = !matches!(b, b'#' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'?');
        b += 1;
    }
    table
};

/// A quick yes for the plain scalars that manifests are made of.
fn plain_at_a_glance(text: &[u8], flow: bool) -> bool {
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return false };
    if !(first.is_ascii_alphanumeric() || matches!(first, b'/' | b'_' | b'$')) || *last == b' ' {
        return false;
    }
    let mut before = *first;
    for (n, b) in text.iter().enumerate() {
        if !HARMLESS[*b as usize] {
            let fine = match b {
                b' ' => true,
                b':' => !flow && text.get(n + 1).is_some_and(|b| HARMLESS[*b as usize]),
                b'#' => before != b' ',
                b',' | b'[' | b']' | b'{' | b'}' | b'?' => !flow,
                _ => false,
            };
            if !fine {
                return false;
            }
        }
        before = *b;
    }
    true
}

/// Which styles can carry the text; with `as_kpt`, by kpt's opinion, which loses separators in single quotes.
fn analyse(text: &str, as_kpt: bool) -> Allowed {
    let Some(first) = text.chars().next() else {
        return Allowed { plain_in_flow: false, plain_in_block: true, single_quoted: true, block: false };
    };
    let document_marker = text.starts_with("---") || text.starts_with("...");
    let mut block_indicators = document_marker;
    let mut flow_indicators = document_marker;
    let (mut breaks, mut tabs, mut special) = (false, false, false);
    let (mut break_space, mut space_break) = (false, false);
    let (mut after_space, mut after_break, mut after_blank) = (false, false, true);
    let mut chars = text.chars().peekable();
    let mut n = 0_usize;
    while let Some(c) = chars.next() {
        let before_blank = chars.peek().is_none_or(|c| matches!(c, ' ' | '\t'));
        match c {
            ',' | '[' | ']' | '{' | '}' => {
                flow_indicators = true;
                block_indicators |= n == 0;
            }
            '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' if n == 0 => {
                flow_indicators = true;
                block_indicators = true;
            }
            '?' => {
                flow_indicators = true;
                block_indicators |= n == 0 && before_blank;
            }
            ':' => {
                flow_indicators = true;
                block_indicators |= before_blank;
            }
            '-' if n == 0 && before_blank => {
                flow_indicators = true;
                block_indicators = true;
            }
            '#' if after_blank => {
                flow_indicators = true;
                block_indicators = true;
            }
            '\t' => tabs = true,
            '\u{2028}' | '\u{2029}' if !as_kpt => special = true,
            c if !is_printable(c) => special = true,
            _ => {}
        }
        let (space, line_break) = (c == ' ', is_break(c));
        break_space |= space && after_break;
        space_break |= line_break && after_space;
        breaks |= line_break;
        (after_space, after_break) = (space, line_break);
        after_blank = space || c == '\t' || line_break;
        n += 1;
    }
    let open = |c: char| c == ' ' || is_break(c);
    let last = text.chars().next_back().unwrap_or(first);
    let no_plain = open(first) || open(last) || breaks || break_space || space_break || tabs || special;
    Allowed {
        plain_in_flow: !no_plain && !flow_indicators,
        plain_in_block: !no_plain && !block_indicators,
        single_quoted: !(break_space || space_break || tabs || special),
        block: !(last == ' ' || space_break || special),
    }
}

/// Writes what stands between double quotes.
pub(crate) fn write_double_quoted(text: &str, out: &mut String) {
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if matches!(c, ' '..='!' | '#'..='[' | ']'..='~') {
            continue;
        }
        if is_printable(c) && !is_break(c) && c != '"' && c != '\\' {
            continue;
        }
        out.push_str(&text[start..at]);
        start = at + c.len_utf8();
        let short = match c {
            '\0' => "\\0",
            '\u{7}' => "\\a",
            '\u{8}' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\u{B}' => "\\v",
            '\u{C}' => "\\f",
            '\r' => "\\r",
            '\u{1B}' => "\\e",
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{85}' => "\\N",
            '\u{2028}' => "\\L",
            '\u{2029}' => "\\P",
            _ => "",
        };
        if !short.is_empty() {
            out.push_str(short);
            continue;
        }
        let (letter, digits) = match c as u32 {
            0..=0xFF => ('x', 2),
            0x100..=0xFFFF => ('u', 4),
            _ => ('U', 8),
        };
        out.push('\\');
        out.push(letter);
        for n in (0..digits).rev() {
            let digit = (c as u32 >> (n * 4)) & 0xF;
            out.extend(char::from_digit(digit, 16).map(|d| d.to_ascii_uppercase()));
        }
    }
    out.push_str(&text[start..]);
}

/// Writes a tag so that it reads as the same tag: long forms of the two standard prefixes become short, a character
/// that cannot stand in a tag is percent-encoded.
fn write_tag(tag: &str, out: &mut String) {
    const STANDARD: &str = "tag:yaml.org,2002:";
    let verbatim = tag.strip_prefix("!<").and_then(|t| t.strip_suffix('>'));
    let long = verbatim.unwrap_or(tag);
    let end = match (long.strip_prefix(STANDARD), verbatim) {
        (Some(name), _) if !name.is_empty() => {
            out.push_str("!!");
            percent_encode(name, out);
            return;
        }
        (_, Some(name)) if !name.starts_with('!') => {
            out.push_str("!<");
            percent_encode(name, out);
            ">"
        }
        (_, Some(name)) => {
            out.push('!');
            percent_encode(&name[1..], out);
            ""
        }
        _ if tag.starts_with('!') => {
            percent_encode(tag, out);
            ""
        }
        _ => {
            out.push_str("!<");
            percent_encode(tag, out);
            ">"
        }
    };
    out.push_str(end);
}

fn percent_encode(text: &str, out: &mut String) {
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "-;/?:@&=+$,_.~*'()!%".contains(c) {
            out.push(c);
        } else {
            let mut bytes = [0; 4];
            for b in c.encode_utf8(&mut bytes).bytes() {
                out.push('%');
                for digit in [b >> 4, b & 0xF] {
                    out.extend(char::from_digit(u32::from(digit), 16).map(|d| d.to_ascii_uppercase()));
                }
            }
        }
    }
}

/// True when a plain scalar with this text is no string for a reader of YAML 1.1 or 1.2: a null, boolean, number,
/// timestamp or merge key in either.
pub(crate) fn reads_as_another_type(text: &str) -> bool {
    let Some(first) = text.bytes().next() else { return true };
    match first {
        b'~' | b'<' | b'=' => matches!(text, "~" | "<<" | "="),
        b'0'..=b'9' | b'+' | b'-' | b'.' => is_number(text) || is_timestamp(text),
        b'a'..=b'z' | b'A'..=b'Z' => {
            if text.len() > 5 {
                return false;
            }
            let word = text.to_ascii_lowercase();
            let known = matches!(&*word, "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n");
            let capitalised = text[1..] == word[1..];
            let upper = text.bytes().all(|b| b.is_ascii_uppercase());
            known && (capitalised || upper)
        }
        _ => false,
    }
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let digits = unsigned.replace('_', "");
    if !digits.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'.') || unsigned.starts_with('_') {
        return false;
    }
    let with_prefix = |prefixes: [&str; 2], allowed: fn(&u8) -> bool| {
        prefixes
            .iter()
            .find_map(|p| digits.strip_prefix(p))
            .is_some_and(|d| !d.is_empty() && d.as_bytes().iter().all(allowed))
    };
    if with_prefix(["0x", "0X"], u8::is_ascii_hexdigit)
        || with_prefix(["0o", "0O"], |b| matches!(b, b'0'..=b'7'))
        || with_prefix(["0b", "0B"], |b| matches!(b, b'0' | b'1'))
    {
        return true;
    }
    is_decimal(&digits) || is_base_60(&digits)
}

/// Digits with at most one point and an exponent; at least one digit.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let mut points = 0;
    let mut any = false;
    for b in mantissa.bytes() {
        match b {
            b'.' => points += 1,
            b'0'..=b'9' => any = true,
            _ => return false,
        }
    }
    let exponent_ok = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['+', '-']).unwrap_or(e);
        !e.is_empty() && e.bytes().all(|b| b.is_ascii_digit())
    });
    any && points <= 1 && exponent_ok
}

/// `190:20:30`, a number in YAML 1.1.
fn is_base_60(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').map_or((text, ""), |(w, f)| (w, f));
    let mut parts = whole.split(':');
    let digits = |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
    let first = parts.next().is_some_and(digits);
    let mut n = 0;
    let rest = parts.all(|p| {
        n += 1;
        digits(p) && (p.len() == 1 || (p.len() == 2 && p.as_bytes()[0] < b'6'))
    });
    first && rest && n > 0 && fraction.bytes().all(|b| b.is_ascii_digit())
}

/// `2001-12-14`, with or without a time behind it.
fn is_timestamp(text: &str) -> bool {
    let b = text.as_bytes();
    let digits = |from: usize| b[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    if digits(0) != 4 || b.get(4) != Some(&b'-') {
        return false;
    }
    let month = digits(5);
    if !(1..=2).contains(&month) || b.get(5 + month) != Some(&b'-') {
        return false;
    }
    let day = digits(6 + month);
    let end = 6 + month + day;
    (1..=2).contains(&day) && b.get(end).is_none_or(|b| matches!(b, b'T' | b't' | b' ' | b'\t'))
}

#[cfg(test)]
mod tests {
    use crate::yaml::{EmitOptions, ParseLimits, Style, Tree, emit_document};

    fn written(text: &str, style: Option<Style>) -> String {
        let mut tree = Tree::new_mapping();
        let root = tree.root();
        let value = match style {
            Some(style) => tree.scalar(text, style),
            None => tree.string(text),
        };
        tree.set(root, "k", value);
        let mut out = String::new();
        emit_document(&tree, &EmitOptions::default(), &mut out);
        let back = Tree::parse(out.as_str(), &ParseLimits::default()).unwrap().unwrap();
        assert_eq!(back.text_at(back.root(), &["k"]), Some(text), "{out}");
        out
    }

    #[test]
    fn strings_are_quoted_where_a_reader_would_see_another_type() {
        for text in [
            "true",
            "yes",
            "No",
            "on",
            "~",
            "null",
            "",
            "1",
            "0755",
            "0x1F",
            "1e3",
            ".inf",
            "2001-12-14",
            "22:22",
            "<<",
        ] {
            assert_eq!(written(text, None), format!("k: \"{text}\"\n"));
        }
        for text in ["a", "1.2.3", "v1", "10Gi", "a:b", "80:8080", "redis:6", "yess"] {
            assert_eq!(written(text, None), format!("k: {text}\n"));
        }
    }

    #[test]
    fn strings_that_cannot_be_plain_get_the_mildest_quotes() {
        assert_eq!(written("a: b", None), "k: 'a: b'\n");
        assert_eq!(written("a\tb", None), "k: \"a\\tb\"\n");
        assert_eq!(written("two\nlines\n", None), "k: |\n  two\n  lines\n");
        assert_eq!(written("trailing \nspace", None), "k: \"trailing \\nspace\"\n");
        assert_eq!(written("😀", None), "k: \"\\U0001F600\"\n");
    }

    #[test]
    fn every_style_reads_back_as_the_same_text() {
        let styles = [Style::SingleQuoted, Style::DoubleQuoted, Style::Literal, Style::Folded];
        let pieces = [
            "a", " ", "\n", "\n\n", "  b", "'", "\"", "\\", "\t", "é", "#", ": ", "\u{2028}", "\u{85}", "\r",
            "\u{feff}",
        ];
        for style in styles {
            for a in pieces {
                for b in pieces {
                    for c in pieces {
                        written(&format!("x{a}{b}{c}y"), Some(style));
                        written(&format!("{a}{b}{c}"), Some(style));
                    }
                }
            }
        }
    }
}
