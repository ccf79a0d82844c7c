package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ratchet/operate/processes"
)

// WorkerPart is a part of a worker. Parts can run in processes of their own, each with the
// permissions that it needs (deploy/permissions).
type WorkerPart string

// The parts of a worker.
const (
	// PartActivities serves the activities of the state machine.
	PartActivities WorkerPart = "activities"
	// PartStream polls the orders' stream.
	PartStream WorkerPart = "stream"
	// PartRequests takes requests from the queue, if one is configured.
	PartRequests WorkerPart = "requests"
	// PartNotifications sends the notifications that are due.
	PartNotifications WorkerPart = "notifications"
	// PartSweeps ends what is due: reservations, holds, steps of payments, and reports of the carrier
	// that wait. It also builds the lists of orders, if they are configured and new, and counts the
	// orders and the stuck ones.
	PartSweeps WorkerPart = "sweeps"
	// PartJobs runs the jobs.
	PartJobs WorkerPart = "jobs"
)

// WorkerParts returns all parts.
func WorkerParts() []WorkerPart {
	return []WorkerPart{PartActivities, PartStream, PartRequests, PartNotifications, PartSweeps, PartJobs}
}

// ErrWorkerPart means that a worker has no such part.
var ErrWorkerPart = errors.New("worker part")

// shownParts returns the names of the parts for the row of the process. If all parts run, the row says
// "worker".
func shownParts(chosen map[WorkerPart]bool) []string {
	if len(chosen) == len(WorkerParts()) {
		return []string{partWorker}
	}

	var shown []string
	for part := range chosen {
		shown = append(shown, string(part))
	}
	slices.Sort(shown)

	return shown
}

// RunsJobs reports whether the process is a live worker that runs jobs.
func RunsJobs(p processes.Process) bool { return p.Runs(partWorker) || p.Runs(string(PartJobs)) }

// chosenParts returns the parts to run: all if none is named.
func chosenParts(named []WorkerPart) (map[WorkerPart]bool, error) {
	all := WorkerParts()
	if len(named) == 0 {
		named = all
	}

	chosen := map[WorkerPart]bool{}
	for _, part := range named {
		if !slices.Contains(all, part) {
			names := make([]string, len(all))
			for i, p := range all {
				names[i] = string(p)
			}

			return nil, fmt.Errorf("%w %q: must be one of %s", ErrWorkerPart, part, strings.Join(names, ", "))
		}
		chosen[part] = true
	}

	return chosen, nil
}
