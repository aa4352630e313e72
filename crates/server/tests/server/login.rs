//! Which logins succeed and how, and which errors the others get.

use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, ClientIdentity, Conn, SslOpts};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use server::{Account, CertificateRequirement, TlsRequirement};

use crate::support::{TestServer, account, mysql_error};
use wire::auth::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD};

fn who(conn: &mut Conn) -> String {
    conn.query_first("WHO").unwrap().unwrap()
}

fn insecure_tls() -> SslOpts {
    SslOpts::default()
        .with_danger_accept_invalid_certs(true)
        .with_danger_skip_domain_validation(true)
}

#[test]
fn every_method_over_tcp() {
    let server = TestServer::start();
    assert_eq!(
        who(&mut server.root()),
        "root root@localhost localhost plain clear"
    );
    // The first login uses RSA, the second the fast path.
    for _ in 0..2 {
        let mut conn = server.connect("sha2", "secret").unwrap();
        assert_eq!(who(&mut conn), "sha2 sha2@% localhost plain clear");
    }
    assert_eq!(
        who(&mut server.connect("native", "secret").unwrap()),
        "native native@% localhost plain clear"
    );
}

#[test]
fn every_method_over_tls() {
    let server = TestServer::start();
    for (user, password) in [
        ("root", ""),
        ("sha2", "secret"),
        ("sha2", "secret"),
        ("native", "secret"),
        ("tls", "secret"),
    ] {
        let options = server.options(user, password).ssl_opts(insecure_tls());
        let seen = who(&mut Conn::new(options).unwrap());
        assert!(
            seen.starts_with(&format!("{user} ")) && seen.ends_with("plain TLSv1.3"),
            "{seen}"
        );
    }
}

#[test]
fn the_self_made_certificate_can_be_trusted() {
    let server = TestServer::start();
    let tls = SslOpts::default().with_root_cert_path(Some(server.directory.path().join("server-cert.pem")));
    let options = server
        .options("root", "")
        .ip_or_hostname(Some("localhost"))
        .ssl_opts(tls);
    assert!(who(&mut Conn::new(options).unwrap()).ends_with("TLSv1.3"));
}

/// A key, and a certificate in that name, which `issuer` signs.
fn signed(name: &str, issuer: &Issuer<'_, KeyPair>) -> (KeyPair, String) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap().pem();
    (key, certificate)
}

/// An authority, and its own certificate.
fn authority(name: &str) -> (Issuer<'static, KeyPair>, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    (Issuer::new(params, key), certificate)
}

#[test]
fn accounts_that_require_a_certificate() {
    let files = tempfile::tempdir().unwrap();
    let path = |name: &str| files.path().join(name);
    let (ours, certificate) = authority("ours");
    std::fs::write(path("ca.pem"), certificate).unwrap();
    let (theirs, _) = authority("theirs");
    for (name, issuer) in [("good", &ours), ("other", &ours), ("foreign", &theirs)] {
        let (key, certificate) = signed(name, issuer);
        std::fs::write(path(&format!("{name}.pem")), certificate).unwrap();
        std::fs::write(path(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }
    let server = TestServer::start_with(|config| config.client_ca = Some(path("ca.pem"))).unwrap();
    let requires = |user: &str, cipher: &str, issuer: &str, subject: &str| Account {
        tls: TlsRequirement::Certificate(CertificateRequirement {
            cipher: cipher.to_owned(),
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
        }),
        ..account(user, "%", MYSQL_NATIVE_PASSWORD, "secret")
    };
    // rcgen begins every name with its own common name, unless it is given one.
    server.fake.accounts.lock().unwrap().extend([
        requires("x509", "", "", ""),
        requires("named", "", "/CN=ours", "/CN=good"),
        requires("cipher", "TLS_AES_256_GCM_SHA384", "", ""),
        requires("weak", "RC4-MD5", "", ""),
    ]);
    let login = |user: &str, identity: Option<&str>| {
        let mut tls = insecure_tls();
        if let Some(name) = identity {
            let identity = ClientIdentity::new(path(&format!("{name}.pem")), path(&format!("{name}.key")));
            tls = tls.with_client_identity(Some(identity));
        }
        Conn::new(server.options(user, "secret").ssl_opts(tls))
    };
    let denied = |user: &str| {
        (
            1045,
            format!("Access denied for user '{user}'@'localhost' (using password: YES)"),
        )
    };
    for user in ["x509", "named", "cipher", "tls", "native"] {
        assert!(
            who(&mut login(user, Some("good")).unwrap()).starts_with(user),
            "{user}"
        );
    }
    for user in ["tls", "native"] {
        assert!(login(user, None).is_ok(), "{user}");
    }
    for user in ["x509", "named", "cipher", "weak"] {
        assert_eq!(mysql_error(login(user, None)), denied(user));
        assert_eq!(mysql_error(server.connect(user, "secret")), denied(user));
    }
    assert!(login("x509", Some("other")).is_ok());
    assert_eq!(mysql_error(login("named", Some("other"))), denied("named"));
    assert_eq!(mysql_error(login("weak", Some("good"))), denied("weak"));
    // What nobody here has signed ends the handshake, whatever the account.
    assert!(login("native", Some("foreign")).is_err());
}

#[test]
fn every_method_over_the_socket() {
    let server = TestServer::start();
    let path = server.directory.path().join("stemdb.sock").display().to_string();
    for (user, password) in [("root", ""), ("sha2", "secret"), ("native", "secret")] {
        let options = server.options(user, password).socket(Some(path.clone()));
        assert!(who(&mut Conn::new(options).unwrap()).contains(" localhost "));
    }
}

#[test]
fn access_denied_as_mysql_says_it() {
    let server = TestServer::start();
    let denied = |user: &str, password: &str| mysql_error(server.connect(user, password));
    let message = |user: &str, using: &str| {
        (
            1045,
            format!("Access denied for user '{user}'@'localhost' (using password: {using})"),
        )
    };
    for user in ["sha2", "native", "nobody", "far", "root"] {
        assert_eq!(denied(user, "wrong"), message(user, "YES"), "{user}");
    }
    for user in ["sha2", "native", "nobody"] {
        assert_eq!(denied(user, ""), message(user, "NO"), "{user}");
    }
    // The password is right, but that is not enough.
    assert_eq!(denied("tls", "secret"), message("tls", "YES"));
    assert_eq!(
        denied("locked", "secret"),
        (
            3118,
            "Access denied for user 'locked'@'localhost'. Account is locked.".to_owned()
        )
    );
    assert_eq!(denied("locked", "wrong"), message("locked", "YES"));
}

#[test]
fn an_unknown_database() {
    let server = TestServer::start();
    let options = server.options("root", "").db_name(Some("missing"));
    assert_eq!(
        mysql_error(Conn::new(options)),
        (1049, "Unknown database 'missing'".to_owned())
    );
}

#[test]
fn a_changed_password_counts_at_once() {
    let server = TestServer::start();
    server.connect("sha2", "secret").unwrap();
    let changed = account("sha2", "%", CACHING_SHA2_PASSWORD, "another");
    server
        .fake
        .accounts
        .lock()
        .unwrap()
        .retain(|account| account.user != "sha2");
    server.fake.accounts.lock().unwrap().push(changed);
    assert_eq!(mysql_error(server.connect("sha2", "secret")).0, 1045);
    server.connect("sha2", "another").unwrap();
    server.connect("sha2", "another").unwrap();
}

#[test]
fn insecure_transport_can_be_refused() {
    let server = TestServer::start();
    server.set(|settings| settings.require_secure_transport = true);
    assert_eq!(mysql_error(server.connect("root", "")).0, 3159);
    let over_tls = server.options("root", "").ssl_opts(insecure_tls());
    assert!(Conn::new(over_tls).is_ok());
    let path = server.directory.path().join("stemdb.sock").display().to_string();
    assert!(Conn::new(server.options("root", "").socket(Some(path))).is_ok());
}

#[test]
fn changing_user() {
    let server = TestServer::start();
    let mut conn = server.root();
    let to = |user: &str, password: &str| {
        ChangeUserOpts::new()
            .with_user(Some(user.to_owned()))
            .with_pass(Some(password.to_owned()))
    };
    for (user, password) in [
        ("native", "secret"),
        ("sha2", "secret"),
        ("sha2", "secret"),
        ("root", ""),
    ] {
        conn.change_user(to(user, password)).unwrap();
        assert!(who(&mut conn).starts_with(&format!("{user} ")));
    }
    assert_eq!(mysql_error(conn.change_user(to("native", "wrong"))).0, 1045);
    assert!(
        conn.query_drop("ECHO 1").is_err(),
        "the connection has to be closed"
    );
}

#[test]
fn compression_is_as_the_client_wants() {
    let server = TestServer::start();
    for compression in [mysql::Compression::default(), mysql::Compression::best()] {
        let options = server.options("root", "").compress(Some(compression));
        let mut conn = Conn::new(options).unwrap();
        assert_eq!(who(&mut conn), "root root@localhost localhost zlib clear");
        let long: String = conn.query_first("REPEAT 300000").unwrap().unwrap();
        assert_eq!(long.len(), 300_000);
        let sent = format!("LENGTH {}", "ab".repeat(200_000));
        assert_eq!(conn.query_first::<u64, _>(sent).unwrap(), Some(400_000));
    }
}
