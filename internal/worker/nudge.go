package worker

// Nudge puts a value into a channel that has room for one, unless one is there already.
func Nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
