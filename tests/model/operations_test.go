package model

// operation is something that a program does. Of all that its programs do, weight parts are this.
type operation struct {
	name   string
	weight int
	do     func(*program)
}

// operations are everything that a program does. The calls among them are made by a machine that may crash,
// lose answers or have its clock set meanwhile (see call).
var operations = []operation{
	{"time passes", 90, passTime},
	{"a clock is set", 15, setClock},

	{"work under a key", 90, work(works)},
	{"work that fails", 14, work(fails)},
	{"work that is cut off before", 12, work(cutBefore)},
	{"work that is cut off after", 12, work(cutAfter)},
	{"work that loses its lease", 10, loseLease},
	{"another payload", 8, otherPayload},
	{"a write with a mark", 80, mark},
	{"a sweep of claims", 6, sweepClaims},

	{"create an action", 20, createAction},
	{"use an action", 68, consumeAction},
	{"cancel an action", 12, cancelAction},

	{"transfer", 75, transfer},
	{"repeat a transfer", 30, repeatTransfer},
	{"hold money", 30, holdMoney},
	{"settle a hold", 30, settleHold},
	{"a sweep of holds", 10, sweepHolds},
	{"compare the accounts", 10, compareAccounts},

	{"authorize", 25, authorize},
	{"capture", 34, capture},
	{"repeat a capture", 8, repeatCapture},
	{"refund", 15, refund},
	{"void", 6, void},
	{"a sweep of payments", 5, sweepPayments},
	{"compare a payment", 7, comparePayment},

	{"reserve", 70, reserve},
	{"commit a reservation", 30, commitReservation},
	{"release a reservation", 30, releaseReservation},
	{"add to a reservation", 30, addToReservation},
	{"a sweep of reservations", 20, sweepReservations},
	{"compare the stock", 10, compareStock},

	{"place an order", 3, placeOrder},
	{"place the order again", 5, placeAgain},
	{"an event", 110, sendEvent},
	{"repeat an event", 30, repeatEvent},
	{"another event under a used id", 5, conflictingEvent},
	{"an id that is over", 5, lateEvent},
	{"migrate the order", 4, migrateOrder},
	{"edit the order", 35, editOrder},
	{"repeat an edit", 15, repeatEdit},
	{"renew the order", 3, renewOrder},
	{"restore the order", 4, restoreOrder},
	{"the stream's reader comes", 12, readStream},
	{"close the journal", 3, closeJournal},
}

// draw chooses an operation.
func (p *program) draw() operation {
	n := p.roll(allWeights)
	for _, o := range operations {
		if n -= o.weight; n < 0 {
			return o
		}
	}

	panic("the weights have changed")
}

var allWeights int

func init() {
	for _, o := range operations {
		allWeights += o.weight
	}
}
