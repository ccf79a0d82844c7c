package notify

// Names for the tests of package notify_test, beside the exported ones.

const FirstTry = firstTry
const MaxEndpoints = maxEndpoints
const RefreshEvery = refreshEvery

var DefaultSchedule = defaultSchedule
