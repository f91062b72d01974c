package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pion/dtls/v3"
)

const patience = 10 * time.Second

// A store is a client's: it has one session, whichever server it came from.
type store struct {
	session dtls.Session
}

func (s *store) Set(_ []byte, session dtls.Session) error {
	s.session = session
	return nil
}

func (s *store) Get([]byte) (dtls.Session, error) { return s.session, nil }

func (s *store) Del([]byte) error {
	s.session = dtls.Session{}
	return nil
}

func newStore() *store { return &store{} }

// sessionsByID is a server's store.
type sessionsByID struct{ byID sync.Map }

// What pion's server has granted to pion's client.
var sessions = &sessionsByID{}

func (s *sessionsByID) Set(id []byte, session dtls.Session) error {
	s.byID.Store(string(id), session)
	return nil
}

func (s *sessionsByID) Get(id []byte) (dtls.Session, error) {
	found, _ := s.byID.Load(string(id))
	session, _ := found.(dtls.Session)
	return session, nil
}

func (s *sessionsByID) Del(id []byte) error {
	s.byID.Delete(string(id))
	return nil
}

// ask connects, fetches a resource and closes.
func ask(socket *watch, to net.Addr, options []dtls.ClientOption) error {
	conn, err := dtls.ClientWithOptions(socket, to, options...)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	return errors.Join(shake(conn), fetch(conn), conn.Close())
}

// A listener is a socket of a server.
type listener interface {
	net.PacketConn
	awaitPeer() (net.Addr, error)
}

// answerOnce takes one connection and answers what comes until it is closed; check judges each request.
func answerOnce(socket listener, options []dtls.ServerOption, check func([]byte) error) error {
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	from, err := socket.awaitPeer()
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	conn, err := dtls.ServerWithOptions(socket, from, options...)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	return errors.Join(shake(conn), answer(conn, check), conn.Close())
}

func shake(conn *dtls.Conn) error {
	within, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := conn.HandshakeContext(within); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	return conn.SetDeadline(time.Now().Add(patience))
}

func fetch(conn *dtls.Conn) error {
	if _, err := conn.Write(request); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	room := make([]byte, 1<<16)
	size, err := conn.Read(room)
	if err != nil {
		return fmt.Errorf("response: %w", err)
	}
	return isResponse(room[:size])
}

func answer(conn *dtls.Conn, check func([]byte) error) error {
	room := make([]byte, 1<<16)
	for requests := 0; ; requests++ {
		size, err := conn.Read(room)
		// A connection for a session has no request to judge.
		if errors.Is(err, io.EOF) && (requests > 0 || check == nil) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d requests: %w", requests, err)
		}
		if check != nil {
			if err := check(room[:size]); err != nil {
				return err
			}
		}
		if _, err := conn.Write(response(room[:size])); err != nil {
			return err
		}
	}
}
