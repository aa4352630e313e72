//! The nodes of an XML document.

use std::ops::Range;

/// A document's nodes, each after its parent; the first one is the root, which has no name.
pub(super) struct Document<'a> {
    pub source: &'a str,
    pub nodes: Vec<Node<'a>>,
}

pub(super) struct Node<'a> {
    pub kind: NodeKind,
    pub parent: usize,
    /// An element's or attribute's name, or text.
    pub text: &'a str,
    range: Range<usize>,
    /// The node behind all that are below it.
    end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NodeKind {
    Element,
    Attribute,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Lexeme {
    End,
    Comment,
    CharacterData,
    Quoted,
    Name,
    Sign(u8),
    Unknown,
}

impl Lexeme {
    /// Its name in messages.
    fn name(self) -> String {
        match self {
            Self::End => "END-OF-INPUT".into(),
            Self::Comment => "COMMENT".into(),
            Self::CharacterData => "CDATA".into(),
            Self::Quoted => "STRING".into(),
            Self::Name => "IDENT".into(),
            Self::Sign(sign) => format!("'{}'", char::from(sign)),
            Self::Unknown => "unknown token".into(),
        }
    }
}

impl<'a> Document<'a> {
    /// Parses a text. The error says why and where it is not well formed.
    pub fn parse(source: &'a str) -> Result<Self, String> {
        let root = Node {
            kind: NodeKind::Element,
            parent: 0,
            text: "",
            range: 0..source.len(),
            end: 1,
        };
        let mut parser = Parser {
            document: Self {
                source,
                nodes: vec![root],
            },
            at: 0,
            open: Vec::new(),
        };
        match parser.document() {
            Ok(()) => Ok(parser.document),
            Err(message) => {
                let before = source.get(..parser.at).unwrap_or(source);
                let line = before.matches('\n').count() + 1;
                let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1) + 1;
                Err(format!("parse error at line {line} pos {column}: {message}"))
            }
        }
    }

    /// The node in the source, with its tags.
    pub fn range(&self, node: usize) -> Range<usize> {
        self.nodes.get(node).map_or(0..0, |node| node.range.clone())
    }

    /// The node behind those below one.
    fn end(&self, node: usize) -> usize {
        match node {
            0 => self.nodes.len(),
            node => self.nodes.get(node).map_or(node, |node| node.end),
        }
    }

    /// All nodes below one, with their positions. They directly follow it.
    pub fn below(&self, ancestor: usize) -> impl Iterator<Item = (usize, &Node<'a>)> {
        let end = self.end(ancestor);
        self.nodes.iter().enumerate().take(end).skip(ancestor + 1)
    }

    /// The child nodes, with their positions. What is below them is not visited.
    pub fn children(&self, parent: usize) -> impl Iterator<Item = (usize, &Node<'a>)> {
        let end = self.end(parent);
        let first = Some(parent + 1);
        std::iter::successors(first, |child| Some(self.end(*child)))
            .take_while(move |child| *child < end)
            .filter_map(|child| Some((child, self.nodes.get(child)?)))
    }

    /// The texts that are direct children of a node.
    pub fn texts(&self, node: usize) -> impl Iterator<Item = &'a str> {
        self.numbered_texts(node).map(|(_, text)| text)
    }

    /// The same, each with its position in the document.
    pub fn numbered_texts(&self, node: usize) -> impl Iterator<Item = (usize, &'a str)> {
        let own = self.nodes.get(node).map(|found| (node, found));
        let own = own.filter(|(_, node)| node.kind == NodeKind::Text);
        let below = self
            .children(node)
            .filter(|(_, child)| child.kind == NodeKind::Text);
        own.into_iter().chain(below).map(|(at, node)| (at, node.text))
    }
}

struct Parser<'a> {
    document: Document<'a>,
    at: usize,
    /// The open elements at the cursor.
    open: Vec<usize>,
}

type Parsed<T> = Result<T, String>;

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.document.source.get(self.at..).unwrap_or_default()
    }

    fn document(&mut self) -> Parsed<()> {
        while !self.rest().is_empty() {
            if self.rest().starts_with('<') {
                self.markup()?;
                continue;
            }
            let length = self.rest().find('<').unwrap_or(self.rest().len());
            self.text(self.at..self.at + length);
            self.at += length;
        }
        match self.open.is_empty() {
            true => Ok(()),
            false => Err("unexpected END-OF-INPUT".into()),
        }
    }

    fn markup(&mut self) -> Parsed<()> {
        let start = self.at;
        match self.lexeme() {
            (Lexeme::Comment, _) => return Ok(()),
            (Lexeme::CharacterData, range) => {
                self.text(range.start + "<![CDATA[".len()..range.end - "]]>".len());
                return Ok(());
            }
            _ => {}
        }
        let (mut lexeme, mut range) = self.lexeme();
        if lexeme == Lexeme::Sign(b'/') {
            let (name, range) = self.lexeme();
            if name != Lexeme::Name {
                return Err(format!("{} unexpected (ident wanted)", name.name()));
            }
            self.leave(Some(range))?;
            let (lexeme, _) = self.lexeme();
            return self.close(lexeme);
        }
        let sign = lexeme;
        let is_declaration = sign == Lexeme::Sign(b'!');
        if matches!(sign, Lexeme::Sign(b'!' | b'?')) {
            (lexeme, range) = self.lexeme();
        }
        if lexeme != Lexeme::Name {
            return Err(format!("{} unexpected (ident or '/' wanted)", lexeme.name()));
        }
        self.enter(NodeKind::Element, range, start);
        lexeme = self.attributes(is_declaration)?;
        if lexeme == Lexeme::Sign(b'/') {
            self.leave(None)?;
            lexeme = self.lexeme().0;
        }
        if sign == Lexeme::Sign(b'?') {
            if lexeme != Lexeme::Sign(b'?') {
                return Err(format!("{} unexpected ('?' wanted)", lexeme.name()));
            }
            self.leave(None)?;
            lexeme = self.lexeme().0;
        }
        if is_declaration {
            self.leave(None)?;
        }
        self.close(lexeme)
    }

    fn close(&mut self, lexeme: Lexeme) -> Parsed<()> {
        match lexeme {
            Lexeme::Sign(b'>') => Ok(()),
            other => Err(format!("{} unexpected ('>' wanted)", other.name())),
        }
    }

    /// Reads attributes with or without a value. Returns the lexeme after them.
    fn attributes(&mut self, is_declaration: bool) -> Parsed<Lexeme> {
        let (mut lexeme, mut name) = self.lexeme();
        loop {
            match lexeme {
                Lexeme::Name => {}
                Lexeme::Quoted if is_declaration => {}
                other => return Ok(other),
            }
            let (next, range) = self.lexeme();
            match next {
                Lexeme::Sign(b'=') => {
                    let (value, range) = self.lexeme();
                    let range = match value {
                        Lexeme::Name => range,
                        Lexeme::Quoted => range.start + 1..range.end - 1,
                        other => return Err(format!("{} unexpected (ident or string wanted)", other.name())),
                    };
                    let start = name.start;
                    self.enter(NodeKind::Attribute, name, start);
                    self.text(range);
                    self.leave(None)?;
                    (lexeme, name) = self.lexeme();
                }
                Lexeme::Name => {
                    let start = name.start;
                    self.enter(NodeKind::Attribute, name, start);
                    self.leave(None)?;
                    (lexeme, name) = (next, range);
                }
                Lexeme::Quoted if is_declaration => (lexeme, name) = (next, range),
                other => return Ok(other),
            }
        }
    }

    fn enter(&mut self, kind: NodeKind, name: Range<usize>, start: usize) {
        let node = Node {
            kind,
            parent: self.open.last().copied().unwrap_or(0),
            text: self.document.source.get(name).unwrap_or_default(),
            range: start..start,
            end: self.document.nodes.len() + 1,
        };
        self.open.push(self.document.nodes.len());
        self.document.nodes.push(node);
    }

    fn text(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.document.nodes.push(Node {
                kind: NodeKind::Text,
                parent: self.open.last().copied().unwrap_or(0),
                text: self.document.source.get(range.clone()).unwrap_or_default(),
                range,
                end: self.document.nodes.len() + 1,
            });
        }
    }

    /// Ends the innermost element. MySQL compares only the length of the end tag's name.
    fn leave(&mut self, name: Option<Range<usize>>) -> Parsed<()> {
        let name = name.map(|range| self.document.source.get(range).unwrap_or_default());
        let end = match self.rest().starts_with('>') {
            true => self.at + 1,
            false => self.at,
        };
        let behind = self.document.nodes.len();
        let Some(node) = self.open.pop().and_then(|open| self.document.nodes.get_mut(open)) else {
            let name = name.unwrap_or_default();
            return Err(format!("'</{name}>' unexpected (END-OF-INPUT wanted)"));
        };
        if let Some(name) = name
            && name.len() != node.text.len()
        {
            // MySQL does not name an outermost element.
            let wanted = if self.open.is_empty() { "" } else { node.text };
            return Err(format!("'</{name}>' unexpected ('</{wanted}>' wanted)"));
        }
        node.end = behind;
        node.range.end = match node.kind {
            NodeKind::Element => end,
            _ => self.at,
        };
        Ok(())
    }

    fn lexeme(&mut self) -> (Lexeme, Range<usize>) {
        let spaces = self.rest().len() - self.rest().trim_ascii_start().len();
        self.at += spaces;
        let (rest, start) = (self.rest(), self.at);
        let to = |end: Option<usize>| end.unwrap_or(rest.len());
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_:-.".contains(c) || !c.is_ascii();
        let (lexeme, length) = match rest.chars().next() {
            None => (Lexeme::End, 0),
            Some(_) if rest.starts_with("<!--") => (Lexeme::Comment, to(rest.find("-->").map(|at| at + 3))),
            Some(_) if rest.starts_with("<![CDATA[") => match rest.find("]]>") {
                Some(at) => (Lexeme::CharacterData, at + 3),
                None => (Lexeme::End, rest.len()),
            },
            Some(sign @ ('?' | '=' | '/' | '<' | '>' | '!')) => (Lexeme::Sign(sign as u8), 1),
            Some(quote @ ('"' | '\'')) => match rest.get(1..).and_then(|inner| inner.find(quote)) {
                Some(length) => (Lexeme::Quoted, length + 2),
                None => (Lexeme::Quoted, rest.len()),
            },
            Some(c) if is_name(c) && !c.is_ascii_digit() && c != '-' && c != '.' => {
                (Lexeme::Name, to(rest.find(|c| !is_name(c))))
            }
            Some(c) => (Lexeme::Unknown, c.len_utf8()),
        };
        // An error about an unknown character is reported where it stands.
        self.at += if lexeme == Lexeme::Unknown { 0 } else { length };
        (lexeme, start..start + length)
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    #[test]
    fn children_are_not_what_is_below_them() {
        let document = Document::parse("a<b x='1'><c>d</c>e</b><f/>g").unwrap();
        let names = |found: Vec<(usize, &super::Node<'_>)>| -> String {
            let names = found.iter().map(|(_, node)| node.text);
            names.collect::<Vec<_>>().join(" ")
        };
        let of = |name: &str| document.nodes.iter().position(|node| node.text == name).unwrap();
        assert_eq!(names(document.children(0).collect()), "a b f g");
        assert_eq!(names(document.children(of("b")).collect()), "x c e");
        assert_eq!(names(document.below(of("b")).collect()), "x 1 c d e");
        assert_eq!(names(document.children(of("f")).collect()), "");
        assert_eq!(document.below(0).count(), document.nodes.len() - 1);
    }

    #[test]
    fn many_elements_are_visited_in_linear_time() {
        let source = format!("<a>{}</a>", "<b><c>d</c></b>".repeat(100_000));
        let document = Document::parse(&source).unwrap();
        let of_all = (0..document.nodes.len()).map(|node| document.children(node).count());
        assert_eq!(of_all.sum::<usize>(), document.nodes.len() - 1);
    }
}
