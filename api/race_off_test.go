//go:build !race

package api_test

const crowd = 10_000
