package notify

// What the tests of package notify_test use beside the exported names.

const FirstTry = firstTry
const MaxEndpoints = maxEndpoints
const RefreshEvery = refreshEvery
var DefaultSchedule = defaultSchedule
