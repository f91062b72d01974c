package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const (
	pskIdentity = "device"
	pskSecret   = "a key for one run"
)

func pskOf([]byte) ([]byte, error) { return []byte(pskSecret), nil }

// A server is `wirecost serve coap`.
type server struct {
	process *exec.Cmd
	address *net.UDPAddr
}

var serving = regexp.MustCompile(`serving CoAP on (\S+)`)

func serve(wirecost string, identity *identity) (*server, error) {
	process := exec.Command(wirecost, "serve", "coap", "--listen", "127.0.0.1:0", "--dtls",
		"--cert", identity.certificateFile, "--key", identity.keyFile, "--psk", pskIdentity+":"+pskSecret)
	out, into, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	process.Stdout, process.Stderr = into, into
	err = process.Start()
	into.Close()
	if err != nil {
		return nil, err
	}
	server := &server{process: process}
	address, err := addressIn(out)
	if err == nil {
		server.address, err = net.ResolveUDPAddr("udp4", address)
	}
	if err != nil {
		server.stop()
		return nil, err
	}
	return server, nil
}

// addressIn returns the address that our server tells, and reads on, so that the server can write on.
func addressIn(out *os.File) (string, error) {
	told := make(chan string)
	go func() {
		defer close(told)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if found := serving.FindStringSubmatch(lines.Text()); found != nil {
				told <- found[1]
			}
		}
	}()
	select {
	case address, ok := <-told:
		if ok {
			return address, nil
		}
		return "", errors.New("wirecost serve ended")
	case <-time.After(patience):
		return "", errors.New("wirecost serve told no address")
	}
}

func (s *server) stop() {
	s.process.Process.Kill()
	s.process.Wait()
}

// probe lets our client put a message, and reads in its report what came back.
func probe(wirecost string, port int, credential credential, identity *identity, asked ...string) error {
	known := []string{"--cacert", identity.authorityFile}
	if credential == preSharedKey {
		known = []string{"--psk", pskIdentity + ":" + pskSecret}
	}
	url := fmt.Sprintf("coaps://127.0.0.1:%d/%s", port, probePath)
	arguments := []string{"probe", url, "--no-resumption", "--size", fmt.Sprintf("%dB", probeBytes)}
	arguments = append(append(arguments, known...), asked...)
	said, err := exec.Command(wirecost, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("wirecost probe: %w\n%s", err, said)
	}
	for _, want := range []string{"DTLS 1.2", "2.05 Content", fmt.Sprintf("%d B of payload", len(fromThem))} {
		if !strings.Contains(string(said), want) {
			return fmt.Errorf("no %q in\n%s", want, said)
		}
	}
	return nil
}
