//go:build !race

package api_test

// crowd is the number of concurrent requests of a rush.
const crowd = 10_000
