package ledger

// What the tests of package ledger_test use beside the exported names.

// WithAttempts returns c with a bound for the attempts of one call.
func (c Config) WithAttempts(n int) Config {
	c.attempts = n
	return c
}
