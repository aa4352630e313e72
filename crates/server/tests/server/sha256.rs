//! `sha256_password` by hand: the password in clear over the socket, or encrypted with the server's key.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use rsa::Oaep;
use rsa::RsaPublicKey;
use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::OsRng;
use wire::auth::{CACHING_SHA2_PASSWORD, SHA256_PASSWORD};

use crate::raw::{connect, read_packet, send_login, send_packet};
use crate::support::{TestServer, account};

/// The nonce of the request to use another plugin.
fn nonce_of(switch: &[u8]) -> Vec<u8> {
    let nonce = switch
        .strip_prefix(b"\xfesha256_password\0")
        .and_then(|rest| rest.strip_suffix(&[0]));
    nonce.unwrap_or_else(|| panic!("{switch:?}")).to_vec()
}

/// What the server answers to this password without TLS: the first byte of the packet.
fn answer_by_rsa(server: &TestServer, password: &[u8]) -> u8 {
    let mut stream = connect(server);
    assert_eq!(read_packet(&mut stream)[0], 10);
    send_login(&mut stream, "sha256", CACHING_SHA2_PASSWORD);
    let nonce = nonce_of(&read_packet(&mut stream));
    send_packet(&mut stream, 3, &[1]);
    let key = read_packet(&mut stream);
    assert_eq!(key[0], 1);
    let public = RsaPublicKey::from_public_key_pem(std::str::from_utf8(&key[1..]).unwrap()).unwrap();
    let ended = password.iter().chain(&[0]);
    let masked: Vec<u8> = ended
        .zip(nonce.iter().cycle())
        .map(|(byte, mask)| byte ^ mask)
        .collect();
    let encrypted = public
        .encrypt(&mut OsRng, Oaep::new::<sha1::Sha1>(), &masked)
        .unwrap();
    send_packet(&mut stream, 5, &encrypted);
    read_packet(&mut stream)[0]
}

/// What the server answers when the client's packet is this one.
fn answer(mut stream: impl Read + Write, packet: &[u8]) -> u8 {
    assert_eq!(read_packet(&mut stream)[0], 10);
    send_login(&mut stream, "sha256", CACHING_SHA2_PASSWORD);
    nonce_of(&read_packet(&mut stream));
    send_packet(&mut stream, 3, packet);
    read_packet(&mut stream)[0]
}

#[test]
fn the_password_itself_at_each_login() {
    let server = TestServer::start();
    let mut accounts = server.fake.accounts.lock().unwrap();
    accounts.push(account("sha256", "%", SHA256_PASSWORD, "secret"));
    drop(accounts);
    for _ in 0..2 {
        assert_eq!(answer_by_rsa(&server, b"secret"), 0);
        assert_eq!(answer_by_rsa(&server, b"wrong"), 0xff);
    }
    // In clear it is not taken on a connection that others may read.
    for packet in [&b"secret\0"[..], b"secret", b"\0", b"", b"\x02"] {
        assert_eq!(answer(connect(&server), packet), 0xff, "{packet:?}");
    }
    let path = server.directory.path().join("stemdb.sock");
    let socket = || UnixStream::connect(&path).unwrap();
    for (packet, first) in [
        (&b"secret\0"[..], 0),
        (b"secret", 0xff),
        (b"wrong\0", 0xff),
        (b"\0", 0xff),
    ] {
        assert_eq!(answer(socket(), packet), first, "{packet:?}");
    }
}
