package listeners

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"ratchet/internal/clientnet"
)

const (
	// proxyHeaderTimeout is how long a trusted peer may take for the header of the PROXY protocol.
	proxyHeaderTimeout = 5 * time.Second
	// maxProxyV1 is the size in bytes of the longest line of version 1.
	maxProxyV1 = 107
	// maxProxyV2 is the size in bytes of the longest rest of a header of version 2 that is read: addresses and a few
	// hundred bytes of extensions.
	maxProxyV2 = 4096
)

// proxyV2 begins a header of version 2.
const proxyV2 = "\r\n\r\n\x00\r\nQUIT\n"

var errNoProxyHeader = errors.New("a connection from a trusted proxy must begin with the PROXY protocol")

// proxiedConn is a connection from a trusted proxy that begins with the PROXY protocol. The header is read by the first
// call of Read or RemoteAddr, in the goroutine of the connection, so that a slow proxy does not stop others.
type proxiedConn struct {
	net.Conn
	in *bufio.Reader
	// admit counts the connection for its client. It returns an error if there are too many.
	admit func(client string) error

	once   sync.Once
	client net.Addr
	err    error
}

// RemoteAddr returns the address of the client, or of the proxy if the header is missing.
func (c *proxiedConn) RemoteAddr() net.Addr {
	c.once.Do(c.begin)
	return c.client
}

// Read reads what follows the header. Without a header it finds the end of the connection.
func (c *proxiedConn) Read(p []byte) (int, error) {
	c.once.Do(c.begin)

	// Net/http answers other errors than the end of the connection in plain text.
	if c.err != nil {
		return 0, io.EOF
	}

	return c.in.Read(p)
}

func (c *proxiedConn) begin() {
	c.client = c.Conn.RemoteAddr()

	c.err = c.SetReadDeadline(time.Now().Add(proxyHeaderTimeout))
	if c.err != nil {
		return
	}

	client, err := readProxyHeader(c.in)
	if c.err = err; c.err != nil {
		return
	}

	// A proxy that checks the health of this process names no client.
	if client.IsValid() {
		c.client = net.TCPAddrFromAddrPort(client)
	}

	c.err = errors.Join(c.SetReadDeadline(time.Time{}), c.admit(clientnet.Of(c.client.String())))
}

// readProxyHeader reads a header of version 1 or 2. The address is invalid if the header names none.
func readProxyHeader(in *bufio.Reader) (netip.AddrPort, error) {
	begin, err := in.Peek(len(proxyV2))

	switch {
	case string(begin) == proxyV2:
		return readProxyV2(in)
	case len(begin) >= 6 && string(begin[:6]) == "PROXY ":
		return readProxyV1(in)
	case err != nil:
		return netip.AddrPort{}, fmt.Errorf("%w: %w", errNoProxyHeader, err)
	}

	return netip.AddrPort{}, errNoProxyHeader
}

// readProxyV1 reads "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443" or "PROXY UNKNOWN".
func readProxyV1(in *bufio.Reader) (netip.AddrPort, error) {
	line := make([]byte, 0, maxProxyV1)
	for !strings.HasSuffix(string(line), "\r\n") {
		b, err := in.ReadByte()
		if err != nil || len(line) == maxProxyV1 {
			return netip.AddrPort{}, fmt.Errorf("%w: the line has no end: %w", errNoProxyHeader, errors.Join(err))
		}
		line = append(line, b)
	}

	fields := strings.Split(strings.TrimSuffix(string(line), "\r\n"), " ")
	if fields[1] == "UNKNOWN" {
		return netip.AddrPort{}, nil
	}

	if len(fields) != 6 || fields[1] != "TCP4" && fields[1] != "TCP6" {
		return netip.AddrPort{}, fmt.Errorf("%w: %q", errNoProxyHeader, line)
	}

	addr, err := netip.ParseAddr(fields[2])
	port, portErr := strconv.ParseUint(fields[4], 10, 16)

	if err := errors.Join(err, portErr); err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: %w", errNoProxyHeader, err)
	}

	return netip.AddrPortFrom(addr, uint16(port)), nil
}

// readProxyV2 reads the binary header.
// Source: https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt
func readProxyV2(in *bufio.Reader) (client netip.AddrPort, err error) {
	var fixed [16]byte
	if _, err := io.ReadFull(in, fixed[:]); err != nil {
		return client, fmt.Errorf("%w: %w", errNoProxyHeader, err)
	}

	size := int(binary.BigEndian.Uint16(fixed[14:]))
	if fixed[12]>>4 != 2 || size > maxProxyV2 {
		return client, fmt.Errorf("%w: version %d with %d bytes", errNoProxyHeader, fixed[12]>>4, size)
	}

	rest := make([]byte, size)
	if _, err := io.ReadFull(in, rest); err != nil {
		return client, fmt.Errorf("%w: %w", errNoProxyHeader, err)
	}

	const local, proxied, tcp4, tcp6 = 0, 1, 0x11, 0x21

	switch command := fixed[12] & 0xf; {
	case command == local:
		return client, nil
	case command != proxied:
		return client, fmt.Errorf("%w: command %d", errNoProxyHeader, command)
	case fixed[13] == tcp4 && size >= 12:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(rest)), binary.BigEndian.Uint16(rest[8:])), nil
	case fixed[13] == tcp6 && size >= 36:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(rest)), binary.BigEndian.Uint16(rest[32:])), nil
	case fixed[13] == tcp4, fixed[13] == tcp6:
		return client, fmt.Errorf("%w: %d bytes are too few", errNoProxyHeader, size)
	}

	return client, nil // another family, such as a Unix socket
}
