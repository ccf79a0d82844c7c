package jsonpath

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// function is one intrinsic function.
type function struct {
	least, most int // number of arguments; most < 0 means any number
	run         func(s *Scope, c *call, args [][]byte) ([]byte, error)
}

// arity returns the number of arguments as text, for errors.
func (f *function) arity() string {
	switch {
	case f.most < 0:
		return fmt.Sprintf("at least %d", f.least)
	case f.least == f.most:
		return strconv.Itoa(f.least)
	}

	return fmt.Sprintf("%d to %d", f.least, f.most)
}

// Limits of intrinsic functions, as AWS documents them.
const (
	maxText  = 10000 // characters that Base64Encode, Base64Decode and Hash accept
	maxRange = 1000  // elements of States.ArrayRange
)

// functions are the intrinsic functions by name.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/intrinsic-functions.html
var functions = map[string]*function{
	"States.Format":         {least: 1, most: -1, run: format},
	"States.StringToJson":   {least: 1, most: 1, run: stringToJSON},
	"States.JsonToString":   {least: 1, most: 1, run: jsonToString},
	"States.Array":          {least: 0, most: -1, run: array},
	"States.ArrayPartition": {least: 2, most: 2, run: arrayPartition},
	"States.ArrayContains":  {least: 2, most: 2, run: arrayContains},
	"States.ArrayRange":     {least: 3, most: 3, run: arrayRange},
	"States.ArrayGetItem":   {least: 2, most: 2, run: arrayGetItem},
	"States.ArrayLength":    {least: 1, most: 1, run: arrayLength},
	"States.ArrayUnique":    {least: 1, most: 1, run: arrayUnique},
	"States.Base64Encode":   {least: 1, most: 1, run: base64Encode},
	"States.Base64Decode":   {least: 1, most: 1, run: base64Decode},
	"States.Hash":           {least: 2, most: 2, run: hash},
	"States.JsonMerge":      {least: 3, most: 3, run: jsonMerge},
	"States.MathRandom":     {least: 2, most: 3, run: mathRandom},
	"States.MathAdd":        {least: 2, most: 2, run: mathAdd},
	"States.StringSplit":    {least: 2, most: 2, run: stringSplit},
	"States.UUID":           {least: 0, most: 0, run: uuid},
}

// whole returns an integer argument. A fraction is rounded, as on AWS.
func whole(v []byte, what string) (int64, error) {
	if n, ok := rawjson.Rounded(v); ok {
		return n, nil
	}

	return 0, fmt.Errorf("the %s must be an integer", what)
}

// text returns a string argument.
func text(v []byte, what string) (string, error) {
	s, ok := rawjson.Text(v)
	if !ok {
		return "", fmt.Errorf("the %s must be a string", what)
	}

	return s, nil
}

// bounded returns a string argument of at most maxText characters.
func bounded(v []byte, what string) (string, error) {
	s, err := text(v, what)
	if err == nil && utf8.RuneCountInString(s) > maxText {
		return "", fmt.Errorf("the %s is longer than %d characters", what, maxText)
	}

	return s, err
}
