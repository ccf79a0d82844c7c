package rawjson

// Member returns the value of an object's member. ok is false if there is none or object
// is not an object.
func Member(object []byte, name string) ([]byte, bool) {
	at, end, ok := member(object, name)
	return object[at:end], ok
}

// member returns the place of a member's value in object.
func member(object []byte, name string) (at, end int, ok bool) {
	c := Walk(object)
	if !c.object {
		return 0, 0, false
	}

	// All members are read, because the last one of equal names counts.
	for c.Next() {
		if keyIs(c.Key, name) {
			at, end, ok = c.at, c.end, true
		}
	}

	return at, end, ok
}

// Element returns an element of an array. A negative index counts from the end.
func Element(array []byte, index int) ([]byte, bool) {
	if index < 0 {
		index += Len(array)
	}

	at, end, ok := element(array, index)

	return array[at:end], ok
}

// element returns the place of an element in array.
func element(array []byte, index int) (at, end int, ok bool) {
	c := Walk(array)
	if c.object || index < 0 {
		return 0, 0, false
	}

	for n := 0; c.Next(); n++ {
		if n == index {
			return c.at, c.end, true
		}
	}

	return 0, 0, false
}

// Len returns the number of members of an object or of elements of an array.
func Len(v []byte) int {
	n := 0
	for c := Walk(v); c.Next(); {
		n++
	}

	return n
}
