package jobs

import "time"

// SetTurn sets how long a job runs before it makes room for another one.
func (c *RunnerConfig) SetTurn(turn time.Duration) { c.turn = turn }
