// Our DTLS 1.2 and pion's shake hands, both ways, and tell each other something.
//
// The one argument is the program wirecost. Each case says how it went in a line; the exit code is 0 where none failed.
package main

import (
	"fmt"
	"os"
)

// A credential is what the ends know each other by.
type credential int

const (
	certificate credential = iota
	preSharedKey
)

// A connect is a case in which pion is the client.
type connect struct {
	name       string
	credential credential
	// Length of the connection ID it offers, or none.
	connectionID *int
	// Whether it offers a session to resume.
	session bool
}

func connects() []connect {
	eight, zero := 8, 0
	return []connect{
		{name: "certificate"},
		{name: "psk", credential: preSharedKey},
		{name: "certificate, connection id", connectionID: &eight},
		{name: "psk, connection id", credential: preSharedKey, connectionID: &eight},
		{name: "psk, empty connection id", credential: preSharedKey, connectionID: &zero},
		{name: "certificate, session", session: true},
		{name: "psk, session", credential: preSharedKey, session: true},
		{name: "certificate, connection id and session", connectionID: &eight, session: true},
		{name: "psk, connection id and session", credential: preSharedKey, connectionID: &eight, session: true},
		{name: "certificate, after all of these"},
		{name: "psk, after all of these", credential: preSharedKey},
	}
}

// report says how a case went, and whether it went well.
func report(name string, err error) bool {
	if err != nil {
		fmt.Printf("%v\ncase %s ... FAILED\n", err, name)
		return false
	}
	fmt.Printf("case %s ... ok\n", name)
	return true
}

// run returns the number of cases that failed.
func run(lab *lab) int {
	failed := 0
	note := func(name string, err error) {
		if !report(name, err) {
			failed++
		}
	}
	for _, each := range connects() {
		// After a resumption with a connection ID, pion 3.1.15 gets no response from itself, and so not from us.
		takesBoth := !each.session || each.connectionID == nil
		if takesBoth {
			note("pion to pion: "+each.name, lab.pionToPion(each))
		}
		// With a certificate our server takes neither.
		if takesBoth || each.credential == certificate {
			note("pion to wirecost: "+each.name, lab.pionToOurs(each))
		}
	}
	note("wirecost to pion: certificate", lab.oursToPion(certificate))
	note("wirecost to pion: psk", lab.oursToPion(preSharedKey))
	note("wirecost to pion: psk, connection id", lab.oursToPion(preSharedKey, "--connection-id"))
	note("wirecost to pion: psk, session", lab.oursResumes())
	return failed
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dtls12-pion WIRECOST")
		os.Exit(2)
	}
	lab, err := newLab(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	failed := run(lab)
	lab.close()
	if failed != 0 {
		os.Exit(1)
	}
}
