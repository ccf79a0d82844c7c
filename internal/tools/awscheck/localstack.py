# Starts LocalStack. Its context object lacks Execution.RedriveCount, which waits read: it redrives no execution, so the
# count is 0.
from localstack.runtime.main import main
from localstack.services.stepfunctions.backend import execution_worker

execution = execution_worker.ExecutionData
execution_worker.ExecutionData = lambda **data: execution(**data, RedriveCount=0)

main()
