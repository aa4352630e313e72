//! Variables that are lists of flags, `name=on,...`: SET changes the flags that it names.

/// A list of flags.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flags<'a> {
    /// In the order in which they are printed.
    pub names: &'a [&'a str],
    /// Those that are on by default.
    pub on: &'a [&'a str],
}

impl Flags<'_> {
    fn is_on(&self, at: usize) -> bool {
        self.names.get(at).is_some_and(|name| self.on.contains(name))
    }

    /// The list as it is printed.
    fn printed(&self, is_on: impl Fn(usize) -> bool) -> String {
        let flags = self.names.iter().enumerate();
        let one = |(at, name): (usize, &&str)| format!("{name}={}", if is_on(at) { "on" } else { "off" });
        flags.map(one).collect::<Vec<_>>().join(",")
    }

    pub fn default_text(&self) -> String {
        self.printed(|at| self.is_on(at))
    }

    /// The flags for the bits of a number.
    pub fn of_bits(&self, bits: u64) -> Option<String> {
        // The bit after the last flag means `default`.
        (bits >> (self.names.len() + 1) == 0).then(|| self.printed(|at| bits >> at & 1 == 1))
    }

    /// Applies a list to `current`: `flag=on|off|default, ...`. The word `default` sets all flags that the list
    /// does not name to their defaults. Fails with the first invalid item.
    pub fn changed(&self, current: &str, list: &str) -> Result<String, String> {
        let mut named: Vec<Option<bool>> = vec![None; self.names.len()];
        let mut all_default = false;
        for item in list.split(',').filter(|_| !list.is_empty()) {
            let wrong = || item.to_owned();
            if item.eq_ignore_ascii_case("default") {
                if all_default {
                    return Err(wrong());
                }
                all_default = true;
                continue;
            }
            let (name, value) = item.split_once('=').ok_or_else(wrong)?;
            let at = self.names.iter().position(|flag| flag.eq_ignore_ascii_case(name));
            let at = at.filter(|at| named[*at].is_none()).ok_or_else(wrong)?;
            named[at] = Some(match value.to_ascii_lowercase().as_str() {
                "on" => true,
                "off" => false,
                "default" => self.is_on(at),
                _ => return Err(wrong()),
            });
        }
        let on = flags_on(current);
        Ok(self.printed(|at| {
            let otherwise = if all_default {
                self.is_on(at)
            } else {
                on.contains(&self.names[at])
            };
            named[at].unwrap_or(otherwise)
        }))
    }
}

/// The flags that are on.
pub fn flags_on(text: &str) -> Vec<&str> {
    text.split(',')
        .filter_map(|item| item.strip_suffix("=on"))
        .collect()
}
