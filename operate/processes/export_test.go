package processes

// What the tests of package processes_test use beside the exported names.

const Interval = interval
const Retention = retention
