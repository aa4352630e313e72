//! `stemdb bench` as a whole, against servers that are not there, are none, or go away: one clear line, what was
//! measured kept, and no success.

mod bad_input;
mod fake_server;
