//! The connection phase: one packet per file, in the order in which they are sent.
//!
//! 1. [`Greeting`] from the server.
//! 2. [`SslRequest`] if the client wants TLS, and the TLS handshake.
//! 3. [`Response`] from the client.
//! 4. [`AuthSwitch`] and [`auth_more_data()`] as the authentication plugin needs them. The client answers
//!    with packets that contain only data.
//! 5. [`crate::ok`] or [`crate::err`].
//!
//! The computations of authentication are in [`crate::auth`]. `server` decides which logins are accepted.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_connection_phase.html>

mod attributes;
mod auth_more_data;
mod auth_switch;
mod change_user;
mod greeting;
mod response;

pub use auth_more_data::{MoreData, auth_more_data};
pub use auth_switch::AuthSwitch;
pub use change_user::ChangeUser;
pub use greeting::Greeting;
pub use response::{Response, SslRequest, decode_response};

use types::Error;

/// Error 1043, as MySQL words it.
pub fn bad_handshake() -> Error {
    Error::new(types::errno::ER_HANDSHAKE_ERROR, "Bad handshake")
}
