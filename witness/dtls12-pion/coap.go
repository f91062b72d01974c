package main

import (
	"bytes"
	"fmt"
)

// What pion's server says.
const fromThem = "from pion"

// What our client puts, and where.
const (
	probePath  = "witness"
	probeBytes = 40
)

// RFC 7252 section 3: a confirmable GET of /test, Message ID 7, Token "pion".
var request = []byte("\x44\x01\x00\x07pion\xb4test")

// isResponse says where a message is not the piggybacked 2.05 to the request, with a payload.
func isResponse(message []byte) error {
	head := []byte("\x64\x45\x00\x07pion")
	if !bytes.HasPrefix(message, head) || len(message) < len(head)+2 {
		return fmt.Errorf("no 2.05 to the request: %x", message)
	}
	return nil
}

// isProbe says where a message is not the request of our client.
func isProbe(message []byte) error {
	marker := len(message) - probeBytes - 1
	if marker < 4 || message[marker] != 0xff || !bytes.Contains(message[:marker], []byte(probePath)) {
		return fmt.Errorf("not the %d bytes to /%s: %x", probeBytes, probePath, message)
	}
	return nil
}

// response returns an acknowledgement that carries 2.05, a payload, and the request's Message ID and Token.
func response(request []byte) []byte {
	if len(request) < 4 || len(request) < 4+int(request[0]&15) {
		return nil
	}
	token := request[0] & 15
	out := []byte{0x60 | token, 0x45, request[2], request[3]}
	out = append(out, request[4:4+token]...)
	return append(append(out, 0xff), fromThem...)
}
