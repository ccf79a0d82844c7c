package notify

import "testing"

// TestHeadersThatNameSomebodyElse: an endpoint may not set what services and proxies decide by.
func TestHeadersThatNameSomebodyElse(t *testing.T) {
	for _, name := range []string{
		"X-Amz-Target", "x-amz-security-token", "X-Amzn-Trace-Id", "X-Ratchet-Token", "Connection", "keep-alive", "Proxy-Authorization", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade", "Via", "Forwarded", "X-Forwarded-For", "X-Forwarded", "X-Real-IP", "True-Client-IP", "Origin", "Sec-Fetch-Site",
		"X-HTTP-Method-Override", "X-Original-URL", "Host", "Content-Length",
	} {
		if isOwnHeader(name) {
			t.Errorf("%s may be set", name)
		}
	}

	for _, name := range []string{"Authorization", "X-Api-Key", "X-Shop", "Amz"} {
		if !isOwnHeader(name) {
			t.Errorf("%s may not be set", name)
		}
	}
}
