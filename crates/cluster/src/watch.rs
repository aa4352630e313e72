//! Keys of the store that every node reads regularly, and what is called when their values change.

use std::sync::Arc;

use parking_lot::Mutex;
use types::Result;

/// Called with a key's new value; `None`: the key has none. After an error it is called again at the next
/// look.
type OnValue = dyn Fn(Option<&[u8]>) -> Result<()> + Send + Sync;

struct Watch {
    key: Vec<u8>,
    /// The value of the last successful call; outer `None`: there was no call yet.
    seen: Option<Option<Vec<u8>>>,
    on_value: Arc<OnValue>,
}

/// The watched keys of this node.
#[derive(Default)]
pub(crate) struct Watches {
    watches: Mutex<Vec<Watch>>,
}

impl Watches {
    pub(crate) fn add(
        &self,
        key: Vec<u8>,
        on_value: impl Fn(Option<&[u8]>) -> Result<()> + Send + Sync + 'static,
    ) {
        self.watches.lock().push(Watch {
            key,
            seen: None,
            on_value: Arc::new(on_value),
        });
    }

    pub(crate) fn remove(&self, key: &[u8]) {
        self.watches.lock().retain(|watch| watch.key != key);
    }

    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        self.watches
            .lock()
            .iter()
            .map(|watch| watch.key.clone())
            .collect()
    }

    /// Reports a key's value, if it differs from the last one.
    pub(crate) fn report(&self, key: &[u8], value: Option<Vec<u8>>) -> Result<()> {
        let is_new = |watch: &&Watch| watch.key == key && watch.seen.as_ref() != Some(&value);
        let on_value = self
            .watches
            .lock()
            .iter()
            .find(is_new)
            .map(|w| Arc::clone(&w.on_value));
        let Some(on_value) = on_value else {
            return Ok(());
        };
        // Without the mutex, since the call may watch other keys.
        on_value(value.as_deref())?;
        if let Some(watch) = self.watches.lock().iter_mut().find(|w| w.key == key) {
            watch.seen = Some(value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_reported_once() {
        let watches = Watches::default();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        watches.add(b"key".to_vec(), move |value| {
            log.lock().push(value.map(<[u8]>::to_vec));
            Ok(())
        });
        let one = Some(b"1".to_vec());
        for value in [&None, &None, &one, &one] {
            watches.report(b"key", value.clone()).unwrap();
        }
        watches.remove(b"key");
        watches.report(b"key", Some(b"2".to_vec())).unwrap();
        assert_eq!(*seen.lock(), [None, one]);
        assert!(watches.keys().is_empty());
    }
}
