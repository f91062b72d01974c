// A client or a server of quic-go or of pion/dtls that counts the bytes that it read from its socket and wrote to it.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pion/dtls/v3"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

const patience = 10 * time.Second

// The key that both ends of DTLS have in advance, and its identity.
const (
	pskIdentity = "device"
	pskSecret   = "a key for one run"
)

// RFC 7252 section 3: a confirmable GET of /test, Message ID 7, Token "pion".
var request = []byte("\x44\x01\x00\x07pion\xb4test")

// A socket that counts the payloads of its datagrams.
type counted struct {
	net.PacketConn
	read, written atomic.Int64
	// Received already, to learn whom it is from.
	first []byte
	from  net.Addr
}

func (c *counted) ReadFrom(into []byte) (int, net.Addr, error) {
	if c.first != nil {
		n := copy(into, c.first)
		c.first = nil
		return n, c.from, nil
	}
	n, from, err := c.PacketConn.ReadFrom(into)
	c.read.Add(int64(n))
	return n, from, err
}

func (c *counted) WriteTo(datagram []byte, to net.Addr) (int, error) {
	n, err := c.PacketConn.WriteTo(datagram, to)
	c.written.Add(int64(n))
	return n, err
}

func (c *counted) port() int { return c.LocalAddr().(*net.UDPAddr).Port }

// Close ends the reads of the connection, and not the socket.
func (c *counted) Close() error { return c.SetReadDeadline(time.Now()) }

// said reads what still comes, and tells all bytes.
func (c *counted) said() {
	if err := c.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		panic(err)
	}
	for room := make([]byte, 1<<16); ; {
		if _, _, err := c.ReadFrom(room); err != nil {
			break
		}
	}
	fmt.Println("bytes", c.read.Load(), c.written.Load())
}

// awaitPeer returns the address of the first datagram, which stays to be read.
func (c *counted) awaitPeer() net.Addr {
	room := make([]byte, 1<<16)
	n, from := must2(c.ReadFrom(room))
	c.first, c.from = room[:n], from
	return from
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func must2[T, U any](one T, other U, err error) (T, U) {
	if err != nil {
		panic(err)
	}
	return one, other
}

func bind() *counted { return &counted{PacketConn: must(net.ListenPacket("udp4", "127.0.0.1:0"))} }

func address(port string) *net.UDPAddr { return must(net.ResolveUDPAddr("udp4", "127.0.0.1:"+port)) }

func roots(file string) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(must(os.ReadFile(file)))
	return pool
}

var groups = map[string]tls.CurveID{"x25519": tls.X25519, "p256": tls.CurveP256, "p384": tls.CurveP384,
	"x25519mlkem768": tls.X25519MLKEM768}

func config(names string) *tls.Config {
	own := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"h3"}, ServerName: "localhost"}
	for name := range strings.SplitSeq(names, ",") {
		own.CurvePreferences = append(own.CurvePreferences, groups[name])
	}
	return own
}

// serveQUIC CHAIN KEY GROUP,...: one connection.
func serveQUIC(arguments []string) {
	own := config(arguments[2])
	own.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(arguments[0], arguments[1]))}
	socket := bind()
	listener := must(quic.Listen(socket, own, &quic.Config{}))
	fmt.Println("port", socket.port())
	within, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	connection := must(listener.Accept(within))
	server := http3.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})}
	go server.ServeQUICConn(connection)
	<-connection.Context().Done()
	socket.said()
}

// connectQUIC PORT GROUP,... CA: one request.
func connectQUIC(arguments []string) {
	own := config(arguments[1])
	own.RootCAs = roots(arguments[2])
	socket := bind()
	within, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	connection := must(quic.Dial(within, socket, address(arguments[0]), own, &quic.Config{}))
	client := (&http3.Transport{}).NewClientConn(connection)
	get := must(http.NewRequestWithContext(within, http.MethodGet, "https://localhost/.well-known/core", nil))
	response := must(client.RoundTrip(get))
	must(io.Copy(io.Discard, response.Body))
	connection.CloseWithError(0, "")
	socket.said()
	fmt.Println("port", socket.port())
}

func secret([]byte) ([]byte, error) { return []byte(pskSecret), nil }

// serveDTLS psk, or CHAIN KEY: one connection.
func serveDTLS(arguments []string) {
	// Our client's library always sends use_srtp (RFC 5764 section 4.1.1), and pion refuses it without a profile.
	options := []dtls.ServerOption{dtls.WithSRTPProtectionProfiles(dtls.SRTP_AES128_CM_HMAC_SHA1_80)}
	if arguments[0] == "psk" {
		options = append(options, dtls.WithPSK(secret), dtls.WithPSKIdentityHint([]byte("pion")),
			dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_CCM_8))
	} else {
		pair := must(tls.LoadX509KeyPair(arguments[0], arguments[1]))
		options = append(options, dtls.WithCertificates(pair))
	}
	socket := bind()
	fmt.Println("port", socket.port())
	connection := must(dtls.ServerWithOptions(socket, socket.awaitPeer(), options...))
	answer(connection)
	// Our client's close_notify is answered before.
	connection.Close()
	socket.said()
}

// answer acknowledges every message of CoAP with 2.04 until the client closes.
func answer(connection *dtls.Conn) {
	connection.SetDeadline(time.Now().Add(patience))
	room := make([]byte, 1<<16)
	for {
		_, err := connection.Read(room)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(err)
		}
		token := room[0] & 15
		out := append([]byte{0x60 | token, 0x44, room[2], room[3]}, room[4:4+token]...)
		must(connection.Write(out))
	}
}

// connectDTLS PORT psk, or PORT CA: one request.
func connectDTLS(arguments []string) {
	options := []dtls.ClientOption{}
	if arguments[1] == "psk" {
		options = append(options, dtls.WithPSK(secret), dtls.WithPSKIdentityHint([]byte(pskIdentity)),
			dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_CCM_8))
	} else {
		options = append(options, dtls.WithRootCAs(roots(arguments[1])), dtls.WithServerName("localhost"))
	}
	socket := bind()
	connection := must(dtls.ClientWithOptions(socket, address(arguments[0]), options...))
	connection.SetDeadline(time.Now().Add(patience))
	must(connection.Write(request))
	must(connection.Read(make([]byte, 1<<16)))
	connection.Close()
	socket.said()
	fmt.Println("port", socket.port())
}

func main() {
	map[string]func([]string){"serve-quic": serveQUIC, "connect-quic": connectQUIC, "serve-dtls": serveDTLS,
		"connect-dtls": connectDTLS}[os.Args[1]](os.Args[2:])
}
