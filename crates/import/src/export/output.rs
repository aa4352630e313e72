//! Where the bytes of an export go: to a file of their own, or in order into one file.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::{create, failed_at};
use crate::Result;

const BUFFER_BYTES: usize = 256 << 10;
/// How many buffers of a chunk wait while the chunks before it are written.
const WAITING_BUFFERS: usize = 8;

/// Where a chunk goes.
pub(super) enum Part {
    /// A file whose ending is not there yet.
    File(PathBuf),
    /// One file of all chunks.
    Ordered(SyncSender<Vec<u8>>),
}

impl Part {
    /// A chunk of one file, and where its bytes come out.
    pub(super) fn in_order() -> (Self, Receiver<Vec<u8>>) {
        let (sender, receiver) = sync_channel(WAITING_BUFFERS);
        (Self::Ordered(sender), receiver)
    }

    pub(super) fn open(&self, ending: &str) -> Result<Output> {
        match self {
            Self::File(path) => {
                // A name can have points.
                let mut name = path.as_os_str().to_owned();
                name.push(".");
                name.push(ending);
                Output::file(Path::new(&name))
            }
            Self::Ordered(sender) => Ok(Output {
                name: "the dump".to_owned(),
                out: BufWriter::with_capacity(BUFFER_BYTES, Box::new(Buffers(sender.clone()))),
                is_in_order: true,
            }),
        }
    }
}

pub(super) struct Output {
    name: String,
    out: BufWriter<Box<dyn Write + Send>>,
    pub(super) is_in_order: bool,
}

impl Output {
    pub(super) fn file(path: &Path) -> Result<Self> {
        Ok(Self {
            name: path.display().to_string(),
            out: BufWriter::with_capacity(BUFFER_BYTES, create(path)?),
            is_in_order: false,
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(failed_at(&self.name))
    }

    pub(super) fn finish(mut self) -> Result<()> {
        let flushed = self.out.flush();
        // An empty buffer says that the chunk is whole.
        let ended = match self.is_in_order {
            true => flushed.and_then(|()| self.out.get_mut().write(b"").map(drop)),
            false => flushed,
        };
        ended.map_err(failed_at(&self.name))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct Buffers(SyncSender<Vec<u8>>);

impl Write for Buffers {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.send(bytes.to_vec());
        sent.map_err(|_| io::Error::other("nothing is written any more"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
