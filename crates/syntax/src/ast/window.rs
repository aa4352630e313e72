//! Windows as written. Source: manual 12.20.2 "Window Function Concepts and Syntax", 12.20.3 "Window Function
//! Frame Specification".

use super::{Expr, OrderItem};

/// What follows OVER.
#[derive(Debug, Clone, PartialEq)]
pub enum Window {
    Named(String),
    Spec(Box<WindowSpec>),
}

/// `name AS (specification)` of the clause WINDOW.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    pub name: String,
    pub spec: WindowSpec,
}

/// `([name] [PARTITION BY ...] [ORDER BY ...] [frame])`
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpec {
    /// The window that this one refines.
    pub base: Option<String>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<Frame>,
}

/// `ROWS | RANGE start`, `ROWS | RANGE BETWEEN start AND end`
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    /// `None`: the current row.
    pub end: Option<FrameBound>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
    /// MySQL parses it and refuses it (1235).
    Groups,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(FrameOffset),
    CurrentRow,
    Following(FrameOffset),
    UnboundedFollowing,
}

/// How far a frame reaches: `n`, or `INTERVAL n unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameOffset {
    pub amount: Expr,
    /// A string literal, as functions take it.
    pub unit: Option<Expr>,
}
