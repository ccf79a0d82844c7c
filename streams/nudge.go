package streams

// nudge puts a value into a channel that has room for one, unless one is there already.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
