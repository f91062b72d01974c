package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/pion/dtls/v3/pkg/protocol/extension"
	"github.com/pion/dtls/v3/pkg/protocol/handshake"
)

// RFC 6347 section 4.1 and RFC 9146 section 4.
const (
	recordHeader      = 13
	contentHandshake  = 22
	contentWithItsCID = 25
)

// A watch is a socket that remembers every datagram it carries.
type watch struct {
	net.PacketConn
	lock      sync.Mutex
	datagrams [][]byte
	// Received already, to learn whom it is from.
	first []byte
	from  net.Addr
}

func bind() (*watch, error) {
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &watch{PacketConn: socket}, nil
}

// awaitPeer returns the address of the first datagram, which stays to be read.
func (w *watch) awaitPeer() (net.Addr, error) {
	room := make([]byte, 1<<16)
	size, from, err := w.PacketConn.ReadFrom(room)
	if err != nil {
		return nil, err
	}
	w.first, w.from = room[:size], from
	return from, nil
}

func (w *watch) ReadFrom(into []byte) (int, net.Addr, error) {
	if w.first != nil {
		size := copy(into, w.first)
		w.first = nil
		w.remember(into[:size])
		return size, w.from, nil
	}
	size, from, err := w.PacketConn.ReadFrom(into)
	if err == nil {
		w.remember(into[:size])
	}
	return size, from, err
}

func (w *watch) WriteTo(datagram []byte, to net.Addr) (int, error) {
	w.remember(datagram)
	return w.PacketConn.WriteTo(datagram, to)
}

// A kept socket outlives its first connection.
type kept struct{ *watch }

// Close ends the reads of the connection, and not the socket.
func (k *kept) Close() error {
	err := k.SetReadDeadline(time.Now())
	time.Sleep(200 * time.Millisecond)
	return err
}

// forget drops what was carried so far.
func (w *watch) forget() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.datagrams = nil
}

func (w *watch) remember(datagram []byte) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.datagrams = append(w.datagrams, append([]byte(nil), datagram...))
}

// A hello is what the case is about in a ClientHello or ServerHello.
type hello struct {
	sessionID []byte
	// Nil without the extension.
	connectionID []byte
}

// seen is what goes over the wire in the clear.
type seen struct {
	client, server   hello
	types            map[handshake.Type]bool
	withConnectionID int
}

// full is false for the abbreviated handshake of RFC 5246 figure 2, which has no key exchange.
func (s *seen) full() bool {
	return s.types[handshake.TypeServerHelloDone] && s.types[handshake.TypeClientKeyExchange]
}

func (w *watch) read() (*seen, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	seen := &seen{types: map[handshake.Type]bool{}}
	for _, datagram := range w.datagrams {
		if err := seen.datagram(datagram); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func (s *seen) datagram(rest []byte) error {
	for len(rest) > 0 {
		if rest[0] == contentWithItsCID {
			// How long the connection ID is, and so the record, only the ends know.
			s.withConnectionID++
			return nil
		}
		if len(rest) < recordHeader {
			return fmt.Errorf("a record of %d bytes", len(rest))
		}
		end := recordHeader + int(binary.BigEndian.Uint16(rest[11:]))
		if end > len(rest) {
			return fmt.Errorf("a record of %d bytes in %d", end, len(rest))
		}
		epoch := binary.BigEndian.Uint16(rest[3:])
		if rest[0] == contentHandshake && epoch == 0 {
			if err := s.messages(rest[recordHeader:end]); err != nil {
				return err
			}
		}
		rest = rest[end:]
	}
	return nil
}

func (s *seen) messages(rest []byte) error {
	for len(rest) > 0 {
		var header handshake.Header
		if err := header.Unmarshal(rest); err != nil {
			return err
		}
		end := handshake.HeaderLength + int(header.FragmentLength)
		if end > len(rest) {
			return fmt.Errorf("a fragment of %d bytes in %d", end, len(rest))
		}
		s.types[header.Type] = true
		if err := s.hello(header.Type, rest[handshake.HeaderLength:end]); err != nil {
			return err
		}
		rest = rest[end:]
	}
	return nil
}

func (s *seen) hello(kind handshake.Type, body []byte) error {
	switch kind {
	case handshake.TypeClientHello:
		var message handshake.MessageClientHello
		err := message.Unmarshal(body)
		s.client = hello{message.SessionID, connectionIDOf(message.Extensions)}
		return err
	case handshake.TypeServerHello:
		var message handshake.MessageServerHello
		err := message.Unmarshal(body)
		s.server = hello{message.SessionID, connectionIDOf(message.Extensions)}
		return err
	default:
		return nil
	}
}

func connectionIDOf(extensions []extension.Extension) []byte {
	for _, each := range extensions {
		if id, ok := each.(*extension.ConnectionID); ok {
			return append([]byte{}, id.CID...)
		}
	}
	return nil
}
