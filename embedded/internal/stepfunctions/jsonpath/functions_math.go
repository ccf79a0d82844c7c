package jsonpath

import (
	"errors"
	"math/rand/v2"
	"strconv"
)

// mathRandom returns an integer from first (included) to last (excluded). With a seed the result is always
// the same. AWS's generator is unknown, so AWS gives other results for that seed.
func mathRandom(s *Scope, _ *call, a [][]byte) ([]byte, error) {
	first, err := whole(a[0], "start")
	if err != nil {
		return nil, err
	}

	last, err := whole(a[1], "end")
	if err != nil {
		return nil, err
	}

	// The difference of two integers can overflow, too.
	if last <= first || last-first <= 0 {
		return nil, errors.New("the end must be greater than the start")
	}

	random := s.Random
	if len(a) == 3 {
		seed, err := whole(a[2], "seed")
		if err != nil {
			return nil, err
		}

		random = rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // a seed asks for predictability
	}

	return strconv.AppendInt(nil, first+random.Int64N(last-first), 10), nil
}

func mathAdd(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	x, err := whole(a[0], "first argument")
	if err != nil {
		return nil, err
	}

	y, err := whole(a[1], "second argument")
	if err != nil {
		return nil, err
	}

	sum := x + y
	// Adding a positive number must make the sum larger, and a negative
	// one smaller. Otherwise it has overflowed.
	if (sum > x) != (y > 0) && y != 0 {
		return nil, errors.New("the sum does not fit 64 bits")
	}

	return strconv.AppendInt(nil, sum, 10), nil
}
