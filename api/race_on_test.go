//go:build race

package api_test

// crowd is smaller under the race detector, which takes ten times as long.
const crowd = 1_000
