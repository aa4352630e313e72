//! Which functions there are: name, types, evaluation. PLACEHOLDER: the owner of this crate fills it.

/// A built-in function or operator, by its entry in the registry.
#[derive(Clone, Copy)]
pub struct Function(pub &'static FunctionDef);

pub struct FunctionDef {
    /// Lower-case SQL name; operators by their symbol (`+`, `<=>`, `and`, `like`).
    pub name: &'static str,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
