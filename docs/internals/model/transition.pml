/*
 * The protocol of one order: package transitions, reduced to what decides.
 *
 * The table's item is one conditional update at a time (atomic). Around it stand
 * clients that send, lose requests and answers, send again, give up and ask again;
 * the journal, written from the stream at any later time and in any order; and a
 * ring so short that it forgets soon. Read with apply.go, loop.go, judge.go and
 * journal.go: the names are the same.
 *
 * Clients (each can be switched off, see check.sh):
 *   executions   two of one state machine: ids computed, the same requests twice,
 *                and a redrive at the end that starts from the first request again
 *   canceler     a request id, the transition id assigned
 *   toucher      the same, with an event that leaves the state as it is
 *   matcher      a request id and If-Match
 *
 * BREAK_... drops one rule of the protocol; Spin must then find a counter-example.
 */
#ifndef RING
#define RING 2
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef STEPS
#define STEPS 3
#endif
#ifndef EXECUTIONS
#define EXECUTIONS 2
#endif
#define MAXID 10
#define IDS (MAXID + 1)

/* states */
#define PENDING 1
#define PAID 2
#define SHIPPED 3
#define CANCELLED 4

/* events */
#define PLACE 1
#define PAY 2
#define SHIP 3
#define RECALL 4
#define TOUCH 5
#define CANCEL 6

#define LEGAL(s, e) ((e == PAY && s == PENDING) || (e == SHIP && s == PAID) || (e == RECALL && s == SHIPPED) \
	|| (e == TOUCH && s == PAID) || (e == CANCEL && (s == PENDING || s == PAID)))
#define NEXT(e) (e == SHIP -> SHIPPED : (e == CANCEL -> CANCELLED : PAID))

/* the event of an execution's step: pay, ship, recall, ship, ... */
#define SCRIPT(n) (n == 0 -> PAY : (n % 2 == 1 -> SHIP : RECALL))

/* modes of a request */
#define GIVEN 0
#define ASSIGNED 1
#define IFMATCH 2

/* verdicts, and what is none yet */
#define NONE 0
#define APPLIED 1
#define REPLAYED 2
#define SUPERSEDED 3
#define WRONGSTATE 4
#define CONFLICT 5
#define UNKNOWN 6 /* no answer */
#define LOOK 7    /* the ring has forgotten: the journal decides */
#define BEHIND 8  /* the journal cannot tell yet */
#define RACE 9    /* an assigned id was taken: derive it again */

/* The item. Slot id % RING names the transition it holds; what that transition was
 * stands below, once, for the ring, the stream and the journal alike. */
byte state = PENDING;
byte tid = 1;
byte ring[RING];

/* Every transition ever applied, by id: 0 in event means none. */
byte event[IDS];
byte key[IDS];      /* request id, 0 for none */
bit assigned[IDS];
byte previous[IDS]; /* the id before, as the stream's record has it */
byte caller[IDS];   /* the call that wrote it: in the ring only, never in the journal */

bit journal[IDS];   /* the row has been written */
byte rows = 0;
byte applied = 1;

/* for the assertions alone */
bit celebrated[IDS]; /* a call answered Applied */

byte faults = FAULTS;

#ifdef LATE
/* A sending that its sender believes lost and that arrives all the same. */
bit limbo = 0;
byte lEv, lId, lKey, lCall, lMode, lSnap;
bit lRefused = 0; /* its call has been answered WrongState since */
#endif

/* condition: does the write hold on the item as it is? */
#ifdef BREAK_ID
#define GUARD(m, i) true
#else
#define GUARD(m, i) (m == IFMATCH -> tid == i - 1 : tid < i)
#endif
#ifdef BREAK_STATE
#define FITS(m, e, s) true
#else
#define FITS(m, e, s) (m == ASSIGNED -> state == s : LEGAL(state, e))
#endif
/* What transitions could add to the condition: no slot carries the request id. */
#ifdef GUARD_KEY
#define HAS(n, k) (ring[n] != 0 && key[ring[n]] == k)
#if RING > 2
#define UNUSED(k) (k == 0 || !(HAS(0, k) || HAS(1, k) || HAS(2, k)))
#else
#define UNUSED(k) (k == 0 || !(HAS(0, k) || HAS(1, k)))
#endif
#else
#define UNUSED(k) true
#endif
#define HOLDS(m, e, i, k, s) (FITS(m, e, s) && GUARD(m, i) && UNUSED(k))

/* The update, with what must be true of every application. */
inline write(m, e, i, k, c) {
	assert(i <= MAXID);
	assert(event[i] == 0);          /* at most one application per order and id */
	assert(i > tid);                /* ids strictly increase */
	assert(LEGAL(state, e));        /* every change of state is in the definition */
	for (n : 1 .. MAXID) {
		assert(k == 0 || key[n] != k) /* at most one application per request id */
	}
	previous[i] = tid;
	event[i] = e;
	key[i] = k;
	assigned[i] = (m != GIVEN);
	caller[i] = c;
	state = NEXT(e);
	tid = i;
	ring[i % RING] = i;
	applied++
}

/* compare judges the request against the transition t. known says whether the call
 * that wrote it is known: in the ring, not in the journal. */
inline compare(t, known) {
	if
	:: known && caller[t] == call -> verdict = APPLIED; at = t
	:: else ->
		if
		:: rKey != 0 && key[t] == rKey && event[t] == ev -> verdict = REPLAYED; at = t
		:: rKey != 0 && key[t] == rKey && event[t] != ev -> verdict = CONFLICT
		:: !(rKey != 0 && key[t] == rKey) ->
			if
			:: mode != GIVEN || assigned[t] -> verdict = SUPERSEDED
			:: mode == GIVEN && !assigned[t] && event[t] == ev && rKey == 0 && key[t] == 0 -> verdict = REPLAYED; at = t
			:: mode == GIVEN && !assigned[t] && !(event[t] == ev && rKey == 0 && key[t] == 0) -> verdict = CONFLICT
			fi
		fi
	fi
}

/* byRequest finds the slot that carries the request id: n, or 0. */
inline byRequest() {
	n = 0;
	for (s : 0 .. RING - 1) {
		if
		:: rKey != 0 && ring[s] != 0 && key[ring[s]] == rKey -> n = ring[s]
		:: else
		fi
	}
}

/* seeImage reads what assigning an id needs: where the order stands, what the ring
 * has forgotten, and whether this request is in it. */
inline seeImage(known) {
	base = tid;
	snap = state;
	forgotten = 0;
	for (s : 0 .. RING - 1) {
		if
		:: ring[s] > RING && ring[s] - RING > forgotten -> forgotten = ring[s] - RING
		:: else
		fi
	}
	byRequest();
	verdict = RACE;
#ifndef BREAK_ASSIGN
	if
	:: n != 0 -> compare(n, known)
	:: else
	fi
#endif
}

/* classify turns a failed condition into a verdict, by the image alone. */
inline classify() {
	if
	:: mode == ASSIGNED -> seeImage(true)
	:: else ->
		byRequest();
		if
		:: n != 0 -> compare(n, true)
#ifdef BREAK_GUESS
		:: n == 0 && state == NEXT(ev) -> verdict = REPLAYED; at = id /* "it is where I wanted it" */
		:: n == 0 && state != NEXT(ev) ->
#else
		:: n == 0 ->
#endif
			if
			:: ring[id % RING] == id -> compare(id, true)
			:: ring[id % RING] > id -> verdict = LOOK
			:: ring[id % RING] < id && tid >= id -> verdict = SUPERSEDED
			:: tid < id && mode == IFMATCH && tid < id - 1 -> verdict = CONFLICT
			:: tid < id && !(mode == IFMATCH && tid < id - 1) -> verdict = WRONGSTATE
			fi
		fi
	fi
}

#ifdef SHOW_JOURNAL
#define SHOWN assert(verdict != SHOW_JOURNAL)
#else
#define SHOWN skip
#endif

/* evidence asks the journal about an id: the first row from there on. */
inline evidence() {
	n = id;
	do
	:: n <= MAXID && !journal[n] -> n++
	:: else -> break
	od;
	if
	:: n == id -> compare(id, false)
	:: n > MAXID -> verdict = BEHIND
#ifdef BREAK_CHAIN
	:: n > id && n <= MAXID -> verdict = SUPERSEDED
#else
	:: n > id && n <= MAXID && previous[n] < id -> verdict = SUPERSEDED
	:: n > id && n <= MAXID && previous[n] >= id -> verdict = BEHIND
#endif
	fi;
	SHOWN;
	assert(verdict != BEHIND || rows < applied) /* no wait for a row that will not come */
}

/* evidenceOfRequest asks the journal about a request id, up to what the ring has
 * forgotten: every row of the chain must be there, or nothing is proved. */
inline evidenceOfRequest() {
	last = 0;
	broken = false;
	verdict = RACE;
	for (s : 1 .. MAXID) {
		if
		:: journal[s] && verdict == RACE && last < forgotten ->
			if
			:: key[s] == rKey -> compare(s, false)
			:: else -> broken = broken || previous[s] != last; last = s
			fi
		:: else
		fi
	}
#ifndef BREAK_BEHIND
	if
	:: verdict == RACE && (broken || last < forgotten) -> verdict = BEHIND
	:: else
	fi;
	SHOWN;
	assert(verdict != BEHIND || rows < applied)
#endif
}

/* deliver carries the write out, or refuses it; both with their answer. */
inline deliver() {
	if
	:: HOLDS(mode, ev, id, rKey, snap) -> write(mode, ev, id, rKey, call); verdict = APPLIED; at = id
	:: else -> classify()
	fi
}

/* What must be true of every verdict, whenever it is given. */
inline vouch() {
	if
	:: verdict == APPLIED ->
		assert(event[at] == ev && caller[at] == call); /* this very call moved the order */
		assert(!celebrated[at]);                       /* and no other call answers so */
		celebrated[at] = 1
	:: verdict == REPLAYED -> /* that very request was applied */
		assert(event[at] == ev && key[at] == rKey);
		assert(mode != GIVEN || at == id)
	:: verdict == SUPERSEDED -> /* it never was, and never will be */
		assert(mode != ASSIGNED);
		assert(event[id] == 0 || assigned[id] || mode == IFMATCH);
		assert(rKey == 0 || key[id] != rKey);
		assert(tid >= id)
	:: verdict == CONFLICT -> /* these clients clash only by computing the same id */
		assert(mode == GIVEN);
		assert(event[id] != 0 && !assigned[id] && (event[id] != ev || key[id] != rKey))
	:: else
	fi;
	/* Once an answer, always that answer; a refusal for the state is judged again. */
	assert(prior != APPLIED && prior != REPLAYED || verdict == REPLAYED);
	assert(prior != SUPERSEDED || verdict == SUPERSEDED);
	assert(prior != CONFLICT || verdict == CONFLICT);
	prior = (verdict == WRONGSTATE -> NONE : verdict)
}

#ifdef LATE
#define TAKEN(i) (caller[i] == call || lCall == call)
#else
#define TAKEN(i) (caller[i] == call)
#endif

/* A name for the call that no transition carries yet, unless it has one. */
inline name() {
	if
	:: call == 0 ->
		call = 16 * me + 1;
		for (s : 1 .. MAXID) {
			for (n : 1 .. MAXID) {
				if
				:: TAKEN(n) -> call++
				:: else
				fi
			}
		}
	:: else
	fi
}

/* ask sends the request until there is a verdict. Each alternative is one visit to
 * the table or the journal; what is decided by it is decided there. */
inline ask() {
	verdict = (mode == ASSIGNED -> UNKNOWN : NONE);
	do
	:: d_step { verdict == UNKNOWN -> /* a new call: the first, or the caller asks again */
			call = 0;
			if
			:: mode == ASSIGNED -> seeImage(false); decide()
			:: else -> verdict = NONE
			fi }
	:: d_step { verdict == RACE -> /* no call has made this request, as far as the ring knows */
#ifndef BREAK_ASSIGN
			if
			:: forgotten == 0
			:: forgotten != 0 -> evidenceOfRequest()
			fi;
#endif
			if
			:: verdict == RACE && !LEGAL(snap, ev) -> verdict = WRONGSTATE
			:: verdict == RACE && LEGAL(snap, ev) -> verdict = NONE; id = base + 1; call = 0
			:: else
			fi;
			decide() }
	:: atomic { verdict == NONE -> /* send the write */
			if
			:: d_step { name(); deliver(); decide() }
			:: d_step { faults > 0 -> /* it is carried out, the answer is lost */
				faults--;
				name();
				if
				:: HOLDS(mode, ev, id, rKey, snap) -> write(mode, ev, id, rKey, call)
				:: else
				fi;
				n = 0; s = 0 }
				giveUp()
			:: d_step { faults > 0 -> /* the request is lost, or late */
				faults--;
				name();
				n = 0; s = 0 }
#ifdef LATE
				if
				:: !limbo -> limbo = 1; lEv = ev; lId = id; lKey = rKey; lCall = call; lMode = mode; lSnap = snap; lRefused = 0
				:: true
				fi;
#endif
				giveUp()
			fi }
	:: d_step { verdict == LOOK -> evidence(); decide() }
	:: d_step { verdict == BEHIND && rows != seen -> verdict = UNKNOWN; seen = 0 } /* asked again later */
	:: verdict >= APPLIED && verdict <= CONFLICT -> break
	od
}

/* decide ends the request if there is a verdict, and clears what is not needed. */
inline decide() {
#ifdef SHOW
	assert(verdict != SHOW); /* to see that it is reached at all */
#endif
	if
	:: verdict >= APPLIED && verdict <= CONFLICT ->
#ifdef LATE
		if
		:: limbo && lEv == ev && lKey == rKey && (lId == id || mode == ASSIGNED) && verdict == WRONGSTATE -> lRefused = 1
		:: else
		fi;
#endif
		vouch();
		snap = 0; base = 0; forgotten = 0; seen = 0; at = 0; call = 0;
		if
		:: mode == ASSIGNED -> id = 0
		:: else
		fi
	:: verdict == BEHIND -> seen = rows; snap = 0; base = 0; forgotten = 0
	:: else
	fi;
	n = 0; s = 0; last = 0; broken = 0
}

/* After a loss the same write is sent again, or the call ends with an unknown outcome. */
inline giveUp() {
	if
	:: true
	:: true -> verdict = UNKNOWN
	fi
}

#define LOCALS \
	byte mode, ev, id, rKey, verdict, at, call, snap, base, forgotten, seen, prior; \
	byte n, s, last; bit broken

/* An execution computes its ids from where it stands. Overtaken, it stops, or goes on
 * from where the verdict says that the order is. At the end comes the redrive: the
 * first request again, however late. */
proctype Execution(byte me) {
	LOCALS;
	byte step = 0;
	byte first = NONE;
	bit turned = 0;
	bit redriven = 0;
	mode = GIVEN;
	id = 2;
	do
	:: atomic {
			ev = SCRIPT(step);
#ifdef KEYED
			rKey = (me == 2 -> 10 + id : 0);
#endif
			prior = (redriven -> first : NONE)
		}
		ask();
		atomic {
			if
			:: !redriven && id == 2 -> first = prior
			:: else
			fi;
			if
			:: redriven -> break
			:: !redriven && step + 1 < STEPS && (verdict == APPLIED || verdict == REPLAYED) -> step++; id++
			:: !redriven && verdict == SUPERSEDED && !turned -> turned = 1; id = tid + 1
#ifdef GAPS
			:: !redriven && verdict == SUPERSEDED && !turned -> turned = 1; id = tid + 2
#endif
			:: !redriven && !(step + 1 < STEPS && (verdict == APPLIED || verdict == REPLAYED)) ->
				redriven = 1; step = 0; id = 2; turned = 0
			fi
		}
	od
}

/* A caller with a request id asks, and later asks again. */
proctype Keyed(byte me; byte what) {
	LOCALS;
	bit again = 0;
	mode = ASSIGNED;
	ev = what;
	rKey = me;
	do
	:: ask();
		if
		:: again -> break
		:: else -> again = 1
		fi
	od
}

/* A caller who has seen the order and says so. REFRESH: asked again, it says what it
 * sees then. */
proctype Matcher(byte me) {
	LOCALS;
	bit again = 0;
	mode = IFMATCH;
	ev = TOUCH;
	rKey = me;
	id = tid + 1;
	do
	:: ask();
		if
		:: again -> break
		:: else -> again = 1
#ifdef REFRESH
			; id = tid + 1; prior = (prior == SUPERSEDED || prior == CONFLICT -> NONE : prior)
#endif
		fi
	od
}

/* The journal's writer: any row that is missing, in any order. IN_ORDER: the oldest. */
#ifdef IN_ORDER
#define MAYWRITE(i) (event[i] != 0 && !journal[i] && (i == 1 || journal[previous[i]]))
#else
#define MAYWRITE(i) (event[i] != 0 && !journal[i])
#endif
#define ROW(i) d_step { MAYWRITE(i) -> journal[i] = 1; rows++ }
proctype Journal() {
end:	do
	:: ROW(1)
	:: ROW(2)
	:: ROW(3)
	:: ROW(4)
	:: ROW(5)
	:: ROW(6)
	:: ROW(7)
	:: ROW(8)
	:: ROW(9)
	:: ROW(10)
	od
}

#ifdef LATE
proctype Network() {
	byte n;
end:	do
	:: atomic { limbo ->
			if
			:: HOLDS(lMode, lEv, lId, lKey, lSnap) ->
#ifdef STRICT
				assert(!lRefused); /* who was refused stays refused */
#endif
				write(lMode, lEv, lId, lKey, lCall)
			:: else
			fi;
			limbo = 0; lEv = 0; lId = 0; lKey = 0; lCall = 0; lMode = 0; lSnap = 0; lRefused = 0; n = 0 }
	od
}
#endif

init {
	atomic {
		event[1] = PLACE;
		ring[1 % RING] = 1;
		run Journal();
#ifdef LATE
		run Network();
#endif
		run Execution(1);
#if EXECUTIONS > 1
		run Execution(2);
#endif
#ifdef CANCELLER
		run Keyed(3, CANCEL);
#endif
#ifdef TOUCHER
		run Keyed(4, TOUCH);
#endif
#ifdef MATCHER
		run Matcher(5);
#endif
	}
}
