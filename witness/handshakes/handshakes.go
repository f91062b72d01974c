// Prints the lengths of the handshake messages of Go's TLS server, as the lines of sizes.csv.
package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// A record: its content type and its length with the header.
type record struct{ kind, length int }

// A connection that notes the records that are written to it.
type noting struct {
	net.Conn
	written []byte
}

func (c *noting) Write(bytes []byte) (int, error) {
	c.written = append(c.written, bytes...)
	return c.Conn.Write(bytes)
}

func (c *noting) records() []record {
	var records []record
	for rest := c.written; len(rest) >= 5; {
		length := 5 + int(rest[3])<<8 + int(rest[4])
		records = append(records, record{int(rest[0]), length})
		rest = rest[length:]
	}
	return records
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func generate(kind string) crypto.Signer {
	switch kind {
	case "p256":
		return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	case "p384":
		return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	case "rsa2048":
		return must(rsa.GenerateKey(rand.Reader, 2048))
	case "rsa3072":
		return must(rsa.GenerateKey(rand.Reader, 3072))
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return must[crypto.Signer](key, err)
}

// A chain with some certificates between leaf and root, and the root.
func chain(kind string, between int) (tls.Certificate, *x509.Certificate) {
	template := func(number int64, name string, isCA bool) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		}
	}
	key := generate(kind)
	root := template(1, "root", true)
	root = must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, root, root, key.Public(), key))))
	var sent [][]byte
	issuer := root
	for number := between; number >= 0; number-- {
		name := "server"
		if number > 0 {
			name = fmt.Sprint("between ", number)
		}
		own := generate(kind)
		der := must(x509.CreateCertificate(rand.Reader, template(int64(number+2), name, number > 0), issuer, own.Public(), key))
		issuer, key = must(x509.ParseCertificate(der)), own
		sent = append([][]byte{der}, sent...)
	}
	return tls.Certificate{Certificate: sent, PrivateKey: key}, root
}

// Both ends of a connection, which hold what the other one has not read yet: both ends of a handshake write at the same time.
func sockets() (near, far net.Conn) {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	near = must(net.Dial("tcp", listener.Addr().String()))
	return near, must(listener.Accept())
}

func handshake(own tls.Certificate, root *x509.Certificate, version uint16, group tls.CurveID) ([]record, error) {
	pool := x509.NewCertPool()
	pool.AddCert(root)
	groups := []tls.CurveID{group}
	near, far := sockets()
	server := &noting{Conn: far}
	done := make(chan error, 1)
	go func() {
		done <- tls.Server(server, &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: version, MaxVersion: version,
			CurvePreferences: groups}).Handshake()
		far.Close()
	}()
	// With a cache of sessions the client asks for tickets, which a ServerHello of TLS 1.2 answers.
	client := tls.Client(near, &tls.Config{RootCAs: pool, ServerName: "server", MinVersion: version, MaxVersion: version,
		CurvePreferences: groups, ClientSessionCache: tls.NewLRUClientSessionCache(1)})
	err := client.Handshake()
	// Tickets of TLS 1.3 are read with data.
	client.Read(make([]byte, 1))
	near.Close()
	if other := <-done; err == nil {
		err = other
	}
	return server.records(), err
}

// The same in QUIC, whose ServerHello echoes no session id (RFC 9001, section 8.4): the messages that CRYPTO frames carry.
func quicHandshake(own tls.Certificate, root *x509.Certificate, group tls.CurveID) (messages []int) {
	pool := x509.NewCertPool()
	pool.AddCert(root)
	shared := tls.Config{MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{group}, NextProtos: []string{"h3"}}
	of := func(change func(*tls.Config)) *tls.QUICConfig {
		one := shared.Clone()
		change(one)
		return &tls.QUICConfig{TLSConfig: one}
	}
	ends := [2]*tls.QUICConn{
		tls.QUICClient(of(func(one *tls.Config) { one.RootCAs, one.ServerName = pool, "server" })),
		tls.QUICServer(of(func(one *tls.Config) { one.Certificates = []tls.Certificate{own} })),
	}
	for _, end := range ends {
		end.SetTransportParameters(nil)
		if err := end.Start(context.Background()); err != nil {
			panic(err)
		}
	}
	var flight []byte
	for done := 0; done < len(ends); {
		for number, end := range ends {
			event := end.NextEvent()
			for ; event.Kind != tls.QUICNoEvent; event = end.NextEvent() {
				switch event.Kind {
				case tls.QUICWriteData:
					if number == 1 {
						flight = append(flight, event.Data...)
					}
					if err := ends[1-number].HandleData(event.Level, bytes.Clone(event.Data)); err != nil {
						panic(err)
					}
				case tls.QUICHandshakeDone:
					done++
				}
			}
		}
	}
	for len(flight) > 0 {
		length := 4 + int(flight[1])<<16 + int(flight[2])<<8 + int(flight[3])
		messages, flight = append(messages, length), flight[length:]
	}
	return messages
}

func main() {
	groups := []struct {
		name string
		id   tls.CurveID
	}{{"x25519", tls.X25519}, {"p256", tls.CurveP256}, {"p384", tls.CurveP384}, {"x25519mlkem768", tls.X25519MLKEM768}}
	for _, kind := range []string{"p256", "p384", "rsa2048", "rsa3072", "ed25519"} {
		for between := 0; between <= 2; between++ {
			own, root := chain(kind, between)
			for _, group := range groups {
				for _, version := range []uint16{tls.VersionTLS13, tls.VersionTLS12} {
					if version == tls.VersionTLS12 && group.id == tls.X25519MLKEM768 {
						continue
					}
					records, err := handshake(own, root, version, group.id)
					if err != nil {
						panic(err)
					}
					show(kind, between, group.name, version, records)
				}
				messages := quicHandshake(own, root, group.id)
				fmt.Printf("go,%s,%d,quic,%s,%d,%d,%d,%d\n", kind, between, group.name, messages[0], messages[2], messages[3], messages[4])
			}
		}
	}
}

// Bytes of ServerHello, Certificate, CertificateVerify and Finished, or ServerHello, Certificate, ServerKeyExchange and Finished.
func show(kind string, between int, group string, version uint16, records []record) {
	var messages []int
	for _, one := range records {
		switch {
		case one.kind == 22:
			messages = append(messages, one.length-5)
		case one.kind == 23:
			messages = append(messages, one.length-22)
		}
	}
	if version == tls.VersionTLS12 {
		fmt.Printf("go,%s,%d,1.2,%s,%d,%d,%d,16\n", kind, between, group, messages[0], messages[1], messages[2])
		return
	}
	fmt.Printf("go,%s,%d,1.3,%s,%d,%d,%d,%d\n", kind, between, group, messages[0], messages[2], messages[3], messages[4])
}
