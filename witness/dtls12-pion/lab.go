package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/pion/dtls/v3"
	"github.com/pion/dtls/v3/pkg/protocol/handshake"
)

// A lab is our server, and what both ends are told.
type lab struct {
	wirecost string
	identity *identity
	ours     *server
}

func newLab(wirecost string) (*lab, error) {
	identity, err := newIdentity()
	if err != nil {
		return nil, err
	}
	ours, err := serve(wirecost, identity)
	if err != nil {
		identity.remove()
		return nil, err
	}
	return &lab{wirecost, identity, ours}, nil
}

func (l *lab) close() {
	l.ours.stop()
	l.identity.remove()
}

// pionToPion is the control: what is offered here is taken, and seen to be taken.
func (l *lab) pionToPion(c connect) error {
	store, err := l.storeFor(c)
	if err != nil {
		return err
	}
	offered := *store
	seen, err := l.pair(c, store)
	if err != nil {
		return err
	}
	if seen.full() == c.session {
		return fmt.Errorf("a session was offered: %t, and the handshake was full: %t", c.session, seen.full())
	}
	// RFC 9146 section 3: who offers an empty connection ID wants none to be sent, and sends the server's.
	if (seen.withConnectionID > 0) != (c.connectionID != nil) {
		return fmt.Errorf("%d records with a connection ID", seen.withConnectionID)
	}
	return seen.offered(c, &offered)
}

// pionToOurs lets pion's client ask our server. With a certificate, what is offered is left lying, and the connection
// serves. With a pre-shared key, it is taken.
func (l *lab) pionToOurs(c connect) error {
	store, err := l.storeFor(c)
	if c.credential == preSharedKey && c.session {
		store = newStore()
		_, err = l.askOurs(connect{credential: preSharedKey, session: true}, store)
	}
	if err != nil {
		return err
	}
	offered := *store
	seen, err := l.askOurs(c, store)
	if err != nil {
		return err
	}
	if c.credential == preSharedKey {
		return errors.Join(seen.offered(c, &offered), seen.taken(c))
	}
	return errors.Join(seen.offered(c, &offered), seen.plain(c.credential))
}

// askOurs lets pion's client ask our server once.
func (l *lab) askOurs(c connect, store *store) (*seen, error) {
	socket, err := bind()
	if err != nil {
		return nil, err
	}
	if err := ask(socket, l.ours.address, l.clientOptions(c, store)); err != nil {
		return nil, err
	}
	return socket.read()
}

// taken says where our server did not take up what was offered with a pre-shared key.
func (s *seen) taken(c connect) error {
	if len(s.server.sessionID) != 32 {
		return fmt.Errorf("the ServerHello's session_id is %x", s.server.sessionID)
	}
	if s.full() == c.session {
		return fmt.Errorf("a session was offered: %t, and the handshake was full: %t", c.session, s.full())
	}
	if (len(s.server.connectionID) == 6) != (c.connectionID != nil) {
		return fmt.Errorf("the ServerHello's connection ID is %x", s.server.connectionID)
	}
	if (s.withConnectionID > 0) != (c.connectionID != nil) {
		return fmt.Errorf("%d records with a connection ID", s.withConnectionID)
	}
	return nil
}

// storeFor returns a client's store, with a session that pion's server granted where the case offers one.
func (l *lab) storeFor(c connect) (*store, error) {
	store := &store{}
	if !c.session {
		return store, nil
	}
	if _, err := l.pair(connect{credential: c.credential, session: true}, store); err != nil {
		return nil, err
	}
	if store.session.ID == nil {
		return nil, errors.New("pion's server granted no session")
	}
	return store, nil
}

// pair lets pion's client ask pion's server once.
func (l *lab) pair(c connect, store *store) (*seen, error) {
	listening, err := bind()
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- answerOnce(listening, l.serverOptions(c.credential, sessions), nil) }()
	socket, err := bind()
	if err != nil {
		return nil, err
	}
	asked := ask(socket, listening.LocalAddr(), l.clientOptions(c, store))
	if err := errors.Join(asked, <-done); err != nil {
		return nil, err
	}
	return socket.read()
}

// oursToPion lets our client send a message to pion's server, which would grant a session and a connection ID.
func (l *lab) oursToPion(credential credential, asked ...string) error {
	listening, err := bind()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	options := l.serverOptions(credential, &sessionsByID{})
	go func() { done <- answerOnce(listening, options, isProbe) }()
	port := listening.LocalAddr().(*net.UDPAddr).Port
	probed := probe(l.wirecost, port, credential, l.identity, asked...)
	if err := errors.Join(probed, <-done); err != nil {
		return err
	}
	seen, err := listening.read()
	if err != nil {
		return err
	}
	if len(asked) > 0 {
		return seen.granted()
	}
	return errors.Join(seen.offered(connect{}, &store{}), seen.fullWithoutConnectionID(credential))
}

// granted says where our client did not use the connection ID of pion's server.
func (s *seen) granted() error {
	if s.client.connectionID == nil || len(s.client.connectionID) > 0 {
		return fmt.Errorf("the ClientHello's connection ID is %x", s.client.connectionID)
	}
	if len(s.server.connectionID) != 8 || s.withConnectionID == 0 {
		return fmt.Errorf("connection ID %x in the ServerHello, %d records", s.server.connectionID, s.withConnectionID)
	}
	return nil
}

// oursResumes lets our client make two connections to pion's server, the second with the session of the first.
func (l *lab) oursResumes() error {
	listening, err := bind()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	options := l.serverOptions(preSharedKey, &sessionsByID{})
	go func() {
		first := answerOnce(&kept{listening}, options, nil)
		listening.forget()
		done <- errors.Join(first, answerOnce(listening, options, isProbe))
	}()
	port := listening.LocalAddr().(*net.UDPAddr).Port
	probed := probe(l.wirecost, port, preSharedKey, l.identity, "--start", "resumed")
	if err := errors.Join(probed, <-done); err != nil {
		return err
	}
	seen, err := listening.read()
	if err != nil {
		return err
	}
	if seen.full() || len(seen.client.sessionID) == 0 {
		return fmt.Errorf("session_id %x, and the handshake was full: %t", seen.client.sessionID, seen.full())
	}
	return nil
}

// RFC 7252 section 9.1.3.1; pion offers it only where told to.
var pskSuite = dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_CCM_8)

func (l *lab) clientOptions(c connect, store *store) []dtls.ClientOption {
	options := []dtls.ClientOption{dtls.WithSessionStore(store)}
	if c.credential == preSharedKey {
		options = append(options, dtls.WithPSK(pskOf), dtls.WithPSKIdentityHint([]byte(pskIdentity)), pskSuite)
	} else {
		options = append(options, dtls.WithRootCAs(l.identity.roots), dtls.WithServerName("localhost"))
	}
	if c.connectionID != nil {
		options = append(options, dtls.WithConnectionIDGenerator(dtls.RandomCIDGenerator(*c.connectionID)))
	}
	return options
}

func (l *lab) serverOptions(credential credential, sessions dtls.SessionStore) []dtls.ServerOption {
	options := []dtls.ServerOption{
		dtls.WithSessionStore(sessions),
		dtls.WithConnectionIDGenerator(dtls.RandomCIDGenerator(8)),
		// Our client's library always sends use_srtp (RFC 5764 section 4.1.1), and pion refuses it without a profile.
		dtls.WithSRTPProtectionProfiles(dtls.SRTP_AES128_CM_HMAC_SHA1_80),
	}
	if credential == preSharedKey {
		return append(options, dtls.WithPSK(pskOf), dtls.WithPSKIdentityHint([]byte("pion")), pskSuite)
	}
	return append(options, dtls.WithCertificates(l.identity.pair))
}

// offered says where pion's ClientHello, or ours, is not what the case is about.
func (s *seen) offered(c connect, store *store) error {
	var err error
	if (s.client.connectionID != nil) != (c.connectionID != nil) {
		err = fmt.Errorf("the ClientHello's connection ID is %x", s.client.connectionID)
	}
	if c.session && string(s.client.sessionID) != string(store.session.ID) || !c.session && len(s.client.sessionID) > 0 {
		err = errors.Join(err, fmt.Errorf("the ClientHello's session_id is %x", s.client.sessionID))
	}
	return err
}

// plain says where our server took up what was offered.
func (s *seen) plain(credential credential) error {
	// RFC 5246 section 7.4.1.3: empty where the session will not be cached, and so cannot be resumed.
	if len(s.server.sessionID) > 0 {
		return fmt.Errorf("the ServerHello's session_id is %x", s.server.sessionID)
	}
	return s.fullWithoutConnectionID(credential)
}

func (s *seen) fullWithoutConnectionID(credential credential) error {
	if !s.full() {
		return errors.New("the handshake was not full")
	}
	if s.types[handshake.TypeCertificate] != (credential == certificate) {
		return errors.New("a certificate was where none belongs, or none where one does")
	}
	if s.server.connectionID != nil || s.withConnectionID > 0 {
		return fmt.Errorf("connection ID %x in the ServerHello, %d records", s.server.connectionID, s.withConnectionID)
	}
	return nil
}
