package main

import (
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
	"time"
)

// An identity is the certificate of both servers, made for one run, and the authority behind it.
type identity struct {
	folder                                  string
	authorityFile, certificateFile, keyFile string
	roots                                   *x509.CertPool
	pair                                    tls.Certificate
}

func newIdentity() (*identity, error) {
	folder, err := os.MkdirTemp("", "dtls12-pion-")
	if err != nil {
		return nil, err
	}
	made := &identity{
		folder:          folder,
		authorityFile:   filepath.Join(folder, "ca.pem"),
		certificateFile: filepath.Join(folder, "server.pem"),
		keyFile:         filepath.Join(folder, "server.key"),
		roots:           x509.NewCertPool(),
	}
	if err := made.fill(); err != nil {
		made.remove()
		return nil, err
	}
	return made, nil
}

func (i *identity) remove() { os.RemoveAll(i.folder) }

func (i *identity) fill() error {
	authority, authorityKey, err := sign(authorityTemplate(), nil, nil)
	if err != nil {
		return err
	}
	leaf, key, err := sign(serverTemplate(), authority, authorityKey)
	if err != nil {
		return err
	}
	i.roots.AddCert(authority)
	i.pair = tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := write(i.authorityFile, "CERTIFICATE", authority.Raw); err != nil {
		return err
	}
	if err := write(i.certificateFile, "CERTIFICATE", leaf.Raw); err != nil {
		return err
	}
	return write(i.keyFile, "PRIVATE KEY", secret)
}

func authorityTemplate() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "witness CA"},
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
}

func serverTemplate() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "localhost"},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// sign makes a key and its certificate; without an issuer it signs itself.
func sign(template, issuer *x509.Certificate, issuerKey *ecdsa.PrivateKey) (
	*x509.Certificate, *ecdsa.PrivateKey, error,
) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if issuer == nil {
		issuer, issuerKey = template, key
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(24 * time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return made, key, err
}

func write(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
