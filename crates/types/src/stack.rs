//! Room on the stack for recursion over expressions, on threads whose stacks may be small.

/// What one level of any recursion over expressions takes at most, unoptimised builds included.
const RED_ZONE_BYTES: usize = 128 << 10;
const SEGMENT_BYTES: usize = 1 << 20;

/// Runs `recurse` with enough stack for one more level. What computes an expression, or takes much stack at each
/// level, begins each level with it; what only looks at the parts of an expression need not.
pub fn with_room<T>(recurse: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE_BYTES, SEGMENT_BYTES, recurse)
}
