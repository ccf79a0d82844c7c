//go:build race

package api_test

// crowd is smaller under the race detector, which is about ten times as slow.
const crowd = 1_000
