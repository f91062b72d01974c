// A client or a server of Go's crypto/tls that counts the bytes that it read from its socket and wrote to it.
package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A socket that counts, and keeps the first record that is written to it.
type counted struct {
	net.Conn
	read, written int
	first         []byte
}

func (c *counted) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.read += n
	return n, err
}

func (c *counted) Write(from []byte) (int, error) {
	n, err := c.Conn.Write(from)
	if c.first == nil {
		c.first = bytes.Clone(from)
	}
	c.written += n
	return n, err
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

var versions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

var groups = map[string]tls.CurveID{"x25519": tls.X25519, "p256": tls.CurveP256, "p384": tls.CurveP384,
	"x25519mlkem768": tls.X25519MLKEM768}

func config(version, names string) *tls.Config {
	var wanted []tls.CurveID
	for name := range strings.SplitSeq(names, ",") {
		wanted = append(wanted, groups[name])
	}
	return &tls.Config{MinVersion: versions[version], MaxVersion: versions[version], CurvePreferences: wanted,
		NextProtos: []string{"http/1.1"}}
}

// serve CHAIN KEY VERSION GROUP,... [CA]: one connection, one request; with CA the client must have a certificate.
func serve(arguments []string) {
	own := config(arguments[2], arguments[3])
	own.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(arguments[0], arguments[1]))}
	if len(arguments) > 4 {
		own.ClientCAs = x509.NewCertPool()
		own.ClientCAs.AppendCertsFromPEM(must(os.ReadFile(arguments[4])))
		own.ClientAuth = tls.RequireAnyClientCert
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Println("port", listener.Addr().(*net.TCPAddr).Port)
	socket := &counted{Conn: must(listener.Accept())}
	connection := tls.Server(socket, own)
	request := make([]byte, 4096)
	if _, err := connection.Read(request); err != nil {
		panic(err)
	}
	must(io.WriteString(connection, "HTTP/1.1 204 No Content\r\n\r\n"))
	io.Copy(io.Discard, connection)
	connection.Close()
	fmt.Println("bytes", socket.read, socket.written)
}

// connect PORT VERSION GROUP,... CA: one request.
func connect(arguments []string) {
	own := config(arguments[1], arguments[2])
	own.ServerName = "localhost"
	own.RootCAs = x509.NewCertPool()
	own.RootCAs.AppendCertsFromPEM(must(os.ReadFile(arguments[3])))
	// With a cache it asks for tickets.
	own.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	socket := &counted{Conn: must(net.Dial("tcp", "127.0.0.1:"+arguments[0]))}
	connection := tls.Client(socket, own)
	must(io.WriteString(connection, "GET /.well-known/core HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
	io.Copy(io.Discard, connection)
	connection.Close()
	fmt.Println("bytes", socket.read, socket.written)
	fmt.Println("port", socket.LocalAddr().(*net.TCPAddr).Port)
	fmt.Println("first", hex.EncodeToString(socket.first))
}

func generate(kind string) crypto.Signer {
	switch kind {
	case "p256":
		return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	case "p384":
		return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	case "rsa2048":
		return must(rsa.GenerateKey(rand.Reader, 2048))
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return must[crypto.Signer](key, err)
}

func write(path, kind string, ders ...[]byte) {
	var text bytes.Buffer
	for _, der := range ders {
		pem.Encode(&text, &pem.Block{Type: kind, Bytes: der})
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		panic(err)
	}
}

// issue FOLDER: for each key KIND-BETWEEN.pem, its key KIND-BETWEEN.key and its root KIND-BETWEEN.ca.
func issue(folder string) {
	for _, name := range []string{"p256-0", "p256-1", "p384-0", "rsa2048-0", "rsa2048-1", "ed25519-0"} {
		kind, between, _ := strings.Cut(name, "-")
		template := func(number int64, name string, isCA bool) *x509.Certificate {
			return &x509.Certificate{
				SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
				NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
				IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			}
		}
		key := generate(kind)
		root := template(1, "root", true)
		root = must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, root, root, key.Public(), key))))
		issuer, sent := root, [][]byte{}
		for number := int64(between[0] - '0'); number >= 0; number-- {
			name := "localhost"
			if number > 0 {
				name = "between"
			}
			own := generate(kind)
			der := must(x509.CreateCertificate(rand.Reader, template(number+2, name, number > 0), issuer, own.Public(), key))
			issuer, key = must(x509.ParseCertificate(der)), own
			sent = append([][]byte{der}, sent...)
		}
		path := filepath.Join(folder, name)
		write(path+".pem", "CERTIFICATE", sent...)
		write(path+".ca", "CERTIFICATE", root.Raw)
		write(path+".key", "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
	}
}

func main() {
	switch os.Args[1] {
	case "serve":
		serve(os.Args[2:])
	case "connect":
		connect(os.Args[2:])
	case "issue":
		issue(os.Args[2])
	}
}
