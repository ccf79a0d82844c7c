package jsonata

import (
	"crypto/md5"  //nolint:gosec // $hash offers it
	"crypto/sha1" //nolint:gosec // $hash offers it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// The functions that Step Functions adds to JSONata.
// Sources: https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html and, for details
// that the page leaves out, https://github.com/floci-io/floci/pull/2676: measured on AWS.

// partition splits an array into arrays of a size. It has no value for an empty array and for
// the size 0.
func partition(args []any, _ any) (any, error) {
	if argument(args, 0) == nil || argument(args, 1) == nil {
		return nil, nil
	}

	items, ok := args[0].([]any)
	if !ok {
		items = []any{args[0]}
	}

	size, err := whole("partition", args, 1)
	switch {
	case err != nil:
		return nil, err
	case size < 0:
		return nil, fmt.Errorf("the second argument of the partition function must be a positive number")
	case size == 0 || len(items) == 0:
		return nil, nil
	}

	parts := []any{}
	for len(items) > 0 {
		n := min(int64(len(items)), size)
		// The third index keeps an append to one part from writing into the next.
		parts, items = append(parts, items[:n:n]), items[n:]
	}

	return parts, nil
}

// rangeOf returns the numbers from the first argument to the second in steps of the third. It has no value
// if the step leads away from the end. A range of one number is the number itself.
func rangeOf(args []any, _ any) (any, error) {
	var bounds [3]int64
	for i := range bounds {
		if argument(args, i) == nil {
			return nil, nil
		}

		var err error
		if bounds[i], err = whole("range", args, i); err != nil {
			return nil, err
		}
	}

	start, end, step := bounds[0], bounds[1], bounds[2]
	if step == 0 || step > 0 && start > end || step < 0 && start < end {
		return nil, nil
	}

	// The distance of two numbers of 64 bits needs the 64th bit, too.
	distance, stride := uint64(end)-uint64(start), uint64(step)
	if step < 0 {
		distance, stride = uint64(start)-uint64(end), -uint64(step)
	}

	count := distance / stride
	// The range has count+1 numbers.
	if count >= maxRanged {
		return nil, errMemory
	}

	numbers := make([]any, 0, count+1)
	for i := range count + 1 {
		numbers = append(numbers, float64(start+int64(i)*step))
	}

	if len(numbers) == 1 {
		return numbers[0], nil
	}

	return numbers, nil
}

// hashes are the algorithms of $hash.
var hashes = map[string]func() hash.Hash{
	"MD5":     md5.New,
	"SHA-1":   sha1.New,
	"SHA-256": sha256.New,
	"SHA-384": sha512.New384,
	"SHA-512": sha512.New,
}

// hashOf returns the hash of a text in hexadecimal digits. It has no value without an algorithm.
func hashOf(args []any, _ any) (any, error) {
	if argument(args, 0) == nil || argument(args, 1) == nil {
		return nil, nil
	}

	text, ok := args[0].(string)
	if !ok {
		return nil, wrongArgument("hash", 0)
	}

	name, _ := args[1].(string)

	algorithm := hashes[name]
	if algorithm == nil {
		return nil, fmt.Errorf("the second argument of the hash function must be one of MD5, SHA-1, SHA-256, SHA-384, SHA-512")
	}

	h := algorithm()
	h.Write([]byte(text))

	return hex.EncodeToString(h.Sum(nil)), nil
}

// parseJSON returns the value of a JSON text.
func parseJSON(args []any, _ any) (any, error) {
	if argument(args, 0) == nil {
		return nil, nil
	}

	text, ok := args[0].(string)
	if !ok {
		return nil, wrongArgument("parse", 0)
	}

	if err := rawjson.Valid([]byte(text)); err != nil {
		return nil, fmt.Errorf("the argument of the parse function must be JSON: %w", err)
	}

	return decode([]byte(text))
}

// random returns a number from 0 to 1. With a seed it is the first double of Java's generator,
// as on AWS.
func random(s *Scope, args []any) (any, error) {
	if argument(args, 0) == nil {
		return s.Random.Float64(), nil
	}

	seed, err := whole("random", args, 0)
	if err != nil {
		return nil, err
	}

	return javaDouble(seed), nil
}

// javaDouble returns the first value of new java.util.Random(seed).nextDouble().
// Source: https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/Random.html
func javaDouble(seed int64) float64 {
	const multiplier, mask = 0x5DEECE66D, 1<<48 - 1

	state := (seed ^ multiplier) & mask
	next := func(bits int) int64 {
		state = (state*multiplier + 0xB) & mask
		return state >> (48 - bits)
	}

	high := next(26) << 27

	return float64(high+next(27)) / (1 << 53)
}

// uuid returns a random UUID of version 4.
func uuid(s *Scope) string {
	hi, lo := s.Random.Uint64(), s.Random.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62

	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}
