package sqs

import (
	"encoding/binary"

	"ratchet/embedded/internal/store"
)

// The second byte of every key. Numbers in keys are big-endian, so that keys sort by them.
const (
	keyQueue   byte = 'q' // name -> queue record
	keyContent byte = 'c' // queue, message -> content
	keyState   byte = 's' // queue, message -> state
	keyDedup   byte = 'd' // queue, deduplication key -> dedup
)

func key(kind byte, numbers ...uint64) []byte {
	k := append(make([]byte, 0, 2+8*len(numbers)), store.PrefixSQS, kind)
	for _, n := range numbers {
		k = binary.BigEndian.AppendUint64(k, n)
	}

	return k
}

func queueKey(name string) []byte                { return append(key(keyQueue), name...) }
func contentKey(queue, message uint64) []byte    { return key(keyContent, queue, message) }
func stateKey(queue, message uint64) []byte      { return key(keyState, queue, message) }
func dedupKey(queue uint64, dedup string) []byte { return append(key(keyDedup, queue), dedup...) }

// number returns the number at the end of a key.
func number(k []byte) uint64 { return binary.BigEndian.Uint64(k[len(k)-8:]) }
