package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// preview is what an act would do, as far as the API can say.
type preview struct {
	good  bool
	lines []string
}

func (p *preview) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// previewOf returns the preview of an act, nil if there is none.
func previewOf(ctx context.Context, v *visit, s *shown) (*preview, error) {
	switch {
	case s.name == "apply":
		return previewEvent(ctx, v, s.values)
	case s.name == "schedule":
		return previewLater(ctx, v, s.values)
	case s.values["scheduled"] != "":
		return previewScheduled(ctx, v, s.values)
	case s.values["payment"] != "":
		return previewPayment(ctx, v, s)
	case s.name == "repair-execution":
		return previewRepair(ctx, v, s.values["order"])
	}

	return nil, nil
}

// previewEvent asks how the order would take an event.
func previewEvent(ctx context.Context, v *visit, given values) (*preview, error) {
	var answer struct {
		Verdict, State, To, Reason string
		Needs, Skips               []string
	}
	if err := v.get(ctx, with(pathTo("/v1/orders/%s/preview", given["order"]), "event", given["event"], "effects", "true"), &answer); err != nil {
		return nil, err
	}

	var d definition
	if err := v.get(ctx, "/v1/workflow", &d); err != nil {
		return nil, err
	}

	p := &preview{good: answer.Verdict == "Applied"}
	if !p.good {
		p.add("It would be refused now (%s): the order is %s.", answer.Verdict, answer.State)

		if len(answer.Needs) > 0 {
			p.add("It is legal from %s.", strings.Join(answer.Needs, ", "))
		}

		if answer.Reason != "" {
			p.add("%s", answer.Reason)
		}

		return p, nil
	}

	p.add("The order goes from %s to %s.", answer.State, answer.To)
	p.lines = append(p.lines, d.follows(answer.To)...)

	for _, skipped := range answer.Skips {
		p.add("Skipped, although it is due: %s.", skipped)
	}

	return p, nil
}

// follows says what follows when an order comes to a state.
func (d definition) follows(state string) (lines []string) {
	if d.Machine != nil {
		for _, s := range d.Machine.States {
			if s.Awaits == state {
				lines = append(lines, fmt.Sprintf("An execution that waits in %s goes on, with %s.", s.Name, strings.Join(s.Next, " or ")))
			}
		}
	}

	if d.isTerminal(state) {
		lines = append(lines, "No event leaves that state: nothing undoes this.")
	}

	return append(lines, "Every handler of the stream gets the change, and endpoints are notified of it.")
}

// previewPayment reads what the payment still has.
func previewPayment(ctx context.Context, v *visit, s *shown) (*preview, error) {
	var payment struct {
		State, Currency                        string
		Amount, Capturable, Captured, Refunded int64
		Pending                                any
	}
	if err := v.get(ctx, pathTo("/v1/payments/%s", s.values["payment"]), &payment); err != nil {
		return nil, err
	}

	p := &preview{good: payment.Pending == nil}
	p.add("The payment is %s: %s, of which %s can be captured, %s were captured and %s refunded, in minor units.",
		payment.State, money(payment.Amount, payment.Currency), thousands(payment.Capturable), thousands(payment.Captured), thousands(payment.Refunded))

	if !p.good {
		p.add("A step of it waits for the bank.")
	}

	return p, nil
}

// previewRepair asks what a repair would do, step by step. A refusal is what the repair would be answered.
func previewRepair(ctx context.Context, v *visit, order string) (*preview, error) {
	var plan struct{ Steps []string }
	err := v.get(ctx, pathTo("/v1/orders/%s/execution/repair", order), &plan)

	if refused, is := errors.AsType[*problem](err); is && refused.Status == http.StatusConflict {
		return &preview{lines: []string{"It would be refused now: " + strings.TrimSuffix(refused.text(), " Nothing was done.")}}, nil
	}

	return &preview{good: true, lines: plan.Steps}, err
}

// send asks the API for the act, once.
func (v *visit) send(ctx context.Context, s shown, body []byte) *answer {
	header := http.Header{}
	for _, h := range s.headers() {
		header.Set(h.name, h.value)
	}

	if body != nil {
		header.Set("Content-Type", "application/json")
	}

	return v.ask(ctx, s.method, s.address(), header, body)
}
