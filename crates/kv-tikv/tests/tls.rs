//! TLS to the cluster, with certificates on both sides.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv::Error;
use kv_tests::support::{get, write};
use kv_tikv::{TikvOptions, TlsOptions};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::StandIn;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate and a key for a name, as files.
    fn issue(&self, dir: &Path, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let (certificate_path, key_path) = (dir.join(format!("{name}.pem")), dir.join(format!("{name}.key")));
        std::fs::write(&certificate_path, certificate.pem()).unwrap();
        std::fs::write(&key_path, key.serialize_pem()).unwrap();
        (certificate_path, key_path)
    }

    fn write(&self, path: PathBuf) -> PathBuf {
        std::fs::write(&path, self.0.pem()).unwrap();
        path
    }
}

#[test]
fn both_sides_show_certificates() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let authority = Authority::new();
    let ca = authority.write(dir.join("ca.pem"));
    let (server, server_key) = authority.issue(dir, "127.0.0.1");
    let identity = authority.issue(dir, "client");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let stand_in = StandIn::start(&[
        "-stores",
        "2",
        "-split",
        "m",
        "-ca",
        &text(&ca),
        "-cert",
        &text(&server),
        "-key",
        &text(&server_key),
    ]);
    let open = |tls: Option<TlsOptions>| {
        kv_tikv::open(TikvOptions {
            tls,
            operation_timeout: Duration::from_secs(2),
            ..stand_in.options()
        })
    };
    let good = TlsOptions {
        ca,
        identity: Some(identity),
        server_name: None,
    };
    let store = open(Some(good.clone())).unwrap();
    write(&store, &[("a", Some("1")), ("z", Some("1"))]);
    assert_eq!(get(&store.latest(), "z").as_deref(), Some("1"));
    // The cluster refuses strangers, and we refuse other servers.
    let stranger = Authority::new();
    let refused = [
        None,
        Some(TlsOptions {
            identity: None,
            ..good.clone()
        }),
        Some(TlsOptions {
            ca: stranger.write(dir.join("stranger.pem")),
            ..good
        }),
    ];
    for tls in refused {
        assert!(matches!(open(tls), Err(Error::ClusterTimeout { .. })));
    }
}
