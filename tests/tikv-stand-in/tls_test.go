package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/pdpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"stemdb/tests/tikv-stand-in/internal/cluster"
	"stemdb/tests/tikv-stand-in/internal/mvcc"
)

// writeCertificate makes a certificate signed by itself, for both ends, and returns the paths of it and its key.
func writeCertificate(t *testing.T) (certificate, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("certificate.pem", "CERTIFICATE", signed), write("key.pem", "PRIVATE KEY", encoded)
}

func TestTLS(t *testing.T) {
	certificate, key := writeCertificate(t)
	settings, err := loadTLS(certificate, certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Start(cluster.Settings{
		PDs: []string{"127.0.0.1:0"}, Control: "127.0.0.1:0", Stores: 1, Limits: mvcc.DefaultLimits(), TLS: settings,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	ask := func(certificates []tls.Certificate) error {
		client := &tls.Config{RootCAs: settings.ClientCAs, Certificates: certificates}
		connection, err := grpc.Dial(c.PD.Addresses()[0], grpc.WithTransportCredentials(credentials.NewTLS(client)))
		if err != nil {
			return err
		}
		defer connection.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := pdpb.NewPDClient(connection).GetMembers(ctx, &pdpb.GetMembersRequest{})
		if err == nil && r.Leader.ClientUrls[0] != "https://"+c.PD.Addresses()[0] {
			t.Errorf("the leader is at %v", r.Leader.ClientUrls)
		}
		return err
	}
	if err := ask(settings.Certificates); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := ask(nil); err == nil {
		t.Error("a client without a certificate was let in")
	}
	if _, err := loadTLS("", certificate, key); err == nil {
		t.Error("TLS without an authority")
	}
	if s, err := loadTLS("", "", ""); s != nil || err != nil {
		t.Errorf("no TLS: %v %v", s, err)
	}
}
