//! Windows. MySQL leaves a blank behind each of their parts.

use super::Printer;
use crate::ast::{Expr, Frame, FrameBound, FrameOffset, FrameUnit, NamedWindow, Window, WindowSpec};

impl Printer<'_> {
    pub fn over(&mut self, function: &Expr, window: &Window) {
        self.expr(function);
        self.put(" OVER ");
        match window {
            Window::Named(name) => self.name(name),
            Window::Spec(spec) => self.window_spec(spec),
        }
    }

    /// The clause WINDOW.
    pub fn windows(&mut self, windows: &[NamedWindow]) {
        if windows.is_empty() {
            return;
        }
        self.put(" window ");
        self.separated(windows, ",", |printer, window| {
            printer.name(&window.name);
            printer.put(" AS ");
            printer.window_spec(&window.spec);
        });
    }

    fn window_spec(&mut self, spec: &WindowSpec) {
        self.put("(");
        if let Some(base) = &spec.base {
            self.name(base);
            self.put(" ");
        }
        if !spec.partition_by.is_empty() {
            self.put("PARTITION BY ");
            self.exprs(&spec.partition_by);
            self.put(" ");
        }
        if !spec.order_by.is_empty() {
            self.put("ORDER BY ");
            self.order_items(&spec.order_by);
            self.put(" ");
        }
        if let Some(frame) = &spec.frame {
            self.frame(frame);
        }
        self.put(") ");
    }

    fn frame(&mut self, frame: &Frame) {
        self.put(match frame.unit {
            FrameUnit::Rows => "ROWS BETWEEN ",
            FrameUnit::Range => "RANGE BETWEEN ",
            FrameUnit::Groups => "GROUPS BETWEEN ",
        });
        self.frame_bound(&frame.start);
        self.put(" AND ");
        self.frame_bound(frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow));
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.put("UNBOUNDED PRECEDING"),
            FrameBound::CurrentRow => self.put("CURRENT ROW"),
            FrameBound::UnboundedFollowing => self.put("UNBOUNDED FOLLOWING"),
            FrameBound::Preceding(offset) => {
                self.frame_offset(offset);
                self.put(" PRECEDING");
            }
            FrameBound::Following(offset) => {
                self.frame_offset(offset);
                self.put(" FOLLOWING");
            }
        }
    }

    fn frame_offset(&mut self, offset: &FrameOffset) {
        if let Some(unit) = &offset.unit {
            self.put("INTERVAL ");
            self.expr(&offset.amount);
            self.put(" ");
            self.expr(unit);
        } else {
            self.expr(&offset.amount);
        }
    }
}
