package server

import (
	"fmt"
	"strings"

	"ratchet/server/listeners"
)

// NetworkConfig says who may reach the listeners of a process, and how they know from whom a request comes.
type NetworkConfig struct {
	// AllowedHosts are the names that requests may have in their Host header, without ports. IP addresses and
	// localhost always pass. On a loopback address no other name passes, because a web page can make its own
	// name resolve to this machine; on other addresses every name passes while the setting is empty.
	// Elements may hold several names, separated by commas or spaces. Default: none.
	AllowedHosts []string `koanf:"allowed-hosts"`
	// ListenRemote lets the engine, and the HTTP API without authentication, listen on other addresses than
	// loopback addresses, for containers. Everybody who reaches such an address may read and change all
	// data.
	ListenRemote bool `koanf:"listen-remote"`
	// TrustedProxies are the addresses and networks (10.0.0.0/8) of proxies and load balancers whose word about
	// the client's address is taken, in the place that ProxyHeader names. Elements may hold several, separated
	// by commas or spaces. Default: none.
	TrustedProxies []string `koanf:"trusted-proxies"`
	// ProxyHeader is where TrustedProxies name the client: "forwarded" (RFC 7239), "x-forwarded-for", or
	// "proxy-protocol", with which each of their connections must begin. Other places are ignored. It
	// must be set with TrustedProxies. Default: none; then a client is the peer of the connection.
	ProxyHeader string `koanf:"proxy-header"`
}

func (c NetworkConfig) withDefaults() NetworkConfig {
	c.AllowedHosts, c.TrustedProxies = splitList(c.AllowedHosts), splitList(c.TrustedProxies)
	return c
}

// splitList splits the elements of a list at commas and spaces: an environment variable holds all in one string.
func splitList(list []string) []string {
	return strings.FieldsFunc(strings.Join(list, ","), func(r rune) bool { return r == ',' || r == ' ' })
}

// proxies returns the trusted proxies, nil for none.
func (c NetworkConfig) proxies() (*listeners.Proxies, error) {
	return listeners.NewProxies(c.ProxyHeader, c.TrustedProxies...)
}

func (c NetworkConfig) validate() error {
	for _, host := range c.AllowedHosts {
		if strings.ContainsAny(host, "/*@") {
			return fmt.Errorf("allowed-hosts %q: must be a host name, without a scheme, a path or a wildcard", withoutUser(host))
		}
	}

	_, err := c.proxies()

	return err
}
