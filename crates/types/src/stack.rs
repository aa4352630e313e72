//! Room on the stack for recursion over expressions, on threads whose stacks may be small.

/// What one level of any recursion over expressions takes at most, unoptimised builds included, and what a look at all parts
/// of an expression of the greatest height takes, which does not grow the stack.
const RED_ZONE_BYTES: usize = 512 << 10;
const SEGMENT_BYTES: usize = 4 << 20;

/// Runs `recurse` with enough stack for one more level. What computes an expression, or takes much stack at each
/// level, begins each level with it; what only looks at the parts of an expression need not.
pub fn with_room<T>(recurse: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE_BYTES, SEGMENT_BYTES, recurse)
}
