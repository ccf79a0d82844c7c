package api

import (
	"fmt"
	"math"
	"net/http"
	"time"
)

const (
	// maxBehind is how late reactions to orders may begin while new orders are taken. Those to orders that were taken
	// shortly before are later than that, by less than a second: the promise is 5 s.
	maxBehind = 4 * time.Second
	// longestPause bounds the Retry-After of an order that is not taken.
	longestPause = 30 * time.Second
)

// checkPace refuses a new order while the reactions to orders begin too late: otherwise shipments and notifications
// would come minutes after the answers to their orders. Other requests are not refused, because
// they end orders that have begun.
func (s *service) checkPace() *problem {
	if s.cfg.Behind == nil {
		return nil
	}

	behind := s.cfg.Behind()
	if behind <= maxBehind {
		return nil
	}

	// Without further orders, the workers catch up faster than the time passes.
	pause := min((behind-maxBehind)/2, longestPause)
	detail := fmt.Sprintf("The reactions to orders are %s behind. Nothing was done for this one.", behind.Round(time.Second))

	return newProblem(http.StatusTooManyRequests, "reactions_behind", detail).retryAfter(max(1, int(math.Ceil(pause.Seconds()))))
}
