package workflow_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"ratchet/workflow"
)

// decision is everything that a definition says about an event in a state.
type decision struct {
	to      workflow.State
	ok      bool
	choices []workflow.Transition
	legal   bool
}

// decisions asks a definition about every state and event, in the order of the permutation.
func decisions(d *workflow.Definition, permutation []int) map[string]decision {
	states, events := d.States(), d.Events()
	all := map[string]decision{}

	for _, i := range permutation {
		from, event := states[i/len(events)].State, events[i%len(events)]
		to, ok := d.Next(from, event)
		all[string(from)+" "+string(event)] = decision{to, ok, slices.Clone(d.Choices(from, event)), d.Reachable(from, to)}
	}

	return all
}

func pairs(d *workflow.Definition) int { return len(d.States()) * len(d.Events()) }

// TestWorkerPoint19_ADecisionDependsOnNothingButStateAndEvent: whatever was asked before, and by how
// many at once, the answer is the same.
func TestWorkerPoint19_ADecisionDependsOnNothingButStateAndEvent(t *testing.T) {
	for _, d := range []*workflow.Definition{workflow.Order(), workflow.Payment(), workflow.Shipment()} {
		inOrder := make([]int, pairs(d))
		for i := range inOrder {
			inOrder[i] = i
		}
		want := decisions(d, inOrder)

		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if got := decisions(d, rand.Perm(pairs(d))); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: asked in another order, the answers are others", d.Name())
				}
			})
		}
		group.Wait()
	}
}

// TestWorkerPoint20_NoMachineIsSharedOrChanged: what a definition hands out, and the spec that it was
// made from, may be changed without changing a decision.
func TestWorkerPoint20_NoMachineIsSharedOrChanged(t *testing.T) {
	spec := workflow.Order().Spec()

	d, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	all := rand.Perm(pairs(d))
	want := decisions(d, all)

	for _, s := range []workflow.Spec{spec, d.Spec()} {
		for i := range s.Transitions {
			s.Transitions[i].To = workflow.Cancelled
			for j := range s.Transitions[i].From {
				s.Transitions[i].From[j] = workflow.Refunded
			}
		}

		for i := range s.States {
			s.States[i].Terminal = true
		}
	}

	clear(d.States())
	clear(d.Events())
	clear(d.Sources(workflow.Pay))

	if got := decisions(d, all); !reflect.DeepEqual(got, want) {
		t.Error("a decision has changed")
	}

	if d.Terminal(workflow.Pending) {
		t.Error("PENDING has become terminal")
	}
}

// TestWorkerPoint22_ASelfTransitionIsChosenExplicitly: no event leads from a state to itself unless the
// spec says so, and such an event is listed like any other.
func TestWorkerPoint22_ASelfTransitionIsChosenExplicitly(t *testing.T) {
	var loops []string

	d := workflow.Order()
	for _, s := range d.States() {
		for _, event := range d.Events() {
			if to, ok := d.Next(s.State, event); ok && to == s.State {
				loops = append(loops, string(s.State)+" "+string(event))
			}
		}
	}

	if want := []string{"PARTIALLY_SHIPPED ship_part"}; !slices.Equal(loops, want) {
		t.Errorf("self-transitions %q, want %q", loops, want)
	}

	spec := twoStates()
	if d, err := workflow.New(spec); err != nil || len(d.Choices("B", "go")) != 0 {
		t.Errorf("go from B, where it is not defined: %v, %v", d.Choices("B", "go"), err)
	}
}
