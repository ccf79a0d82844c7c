// Package ordered holds keys in the order of numbers that change: which timer is due
// next, which worker waits longest.
//
// [Keys] is a binary heap that knows where each key lies, so that a key can be moved or
// removed in logarithmic time.
package ordered
