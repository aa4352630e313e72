//! Windows. MySQL leaves a blank behind each of their parts.

use super::printer::Printer;
use crate::ast::{Expr, Frame, FrameBound, FrameOffset, FrameUnit, NamedWindow, Window, WindowSpec};

pub fn over(printer: &mut Printer<'_>, function: &Expr, window: &Window) {
    printer.expr(function);
    printer.put(" OVER ");
    match window {
        Window::Named(name) => printer.name(name),
        Window::Spec(spec) => window_spec(printer, spec),
    }
}

/// The clause WINDOW.
pub fn windows(printer: &mut Printer<'_>, windows: &[NamedWindow]) {
    if windows.is_empty() {
        return;
    }
    printer.put(" window ");
    printer.separated(windows, ",", |printer, window| {
        printer.name(&window.name);
        printer.put(" AS ");
        window_spec(printer, &window.spec);
    });
}

fn window_spec(printer: &mut Printer<'_>, spec: &WindowSpec) {
    printer.put("(");
    if let Some(base) = &spec.base {
        printer.name(base);
        printer.put(" ");
    }
    if !spec.partition_by.is_empty() {
        printer.put("PARTITION BY ");
        printer.exprs(&spec.partition_by);
        printer.put(" ");
    }
    if !spec.order_by.is_empty() {
        printer.put("ORDER BY ");
        printer.order_items(&spec.order_by);
        printer.put(" ");
    }
    if let Some(frame) = &spec.frame {
        put_frame(printer, frame);
    }
    printer.put(") ");
}

fn put_frame(printer: &mut Printer<'_>, frame: &Frame) {
    printer.put(match frame.unit {
        FrameUnit::Rows => "ROWS BETWEEN ",
        FrameUnit::Range => "RANGE BETWEEN ",
        FrameUnit::Groups => "GROUPS BETWEEN ",
    });
    frame_bound(printer, &frame.start);
    printer.put(" AND ");
    frame_bound(printer, frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow));
}

fn frame_bound(printer: &mut Printer<'_>, bound: &FrameBound) {
    match bound {
        FrameBound::UnboundedPreceding => printer.put("UNBOUNDED PRECEDING"),
        FrameBound::CurrentRow => printer.put("CURRENT ROW"),
        FrameBound::UnboundedFollowing => printer.put("UNBOUNDED FOLLOWING"),
        FrameBound::Preceding(offset) => {
            frame_offset(printer, offset);
            printer.put(" PRECEDING");
        }
        FrameBound::Following(offset) => {
            frame_offset(printer, offset);
            printer.put(" FOLLOWING");
        }
    }
}

fn frame_offset(printer: &mut Printer<'_>, offset: &FrameOffset) {
    if let Some(unit) = &offset.unit {
        printer.put("INTERVAL ");
        printer.expr(&offset.amount);
        printer.put(" ");
        printer.expr(unit);
        printer.put(" ");
    } else {
        printer.expr(&offset.amount);
    }
}
