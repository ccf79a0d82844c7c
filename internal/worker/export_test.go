package worker

// What the tests of package worker_test use beside the exported names.

var WaitJitter = waitJitter
