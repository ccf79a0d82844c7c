package reconcile

// Partitioned returns the configuration with so many temporary files.
func (c Config) Partitioned(n int) Config {
	c.partitions = n
	return c
}
