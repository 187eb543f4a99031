const withThisRun = { id: '$response.body#/data/runId' };

/** The operations on the run whose id is in `runId` of an answer. */
export const runLinks = {
  Follow: { operationId: 'streamRunEvents', parameters: withThisRun },
  Read: { operationId: 'getRun', parameters: withThisRun },
  Steps: { operationId: 'listRunSteps', parameters: withThisRun },
  Input: { operationId: 'getRunInput', parameters: withThisRun },
  Output: { operationId: 'getStepOutput', parameters: { ...withThisRun, stepId: 'summarize' } },
  Change: { operationId: 'updateRun', parameters: withThisRun },
  Retry: { operationId: 'retryRun', parameters: withThisRun },
  Cancel: { operationId: 'cancelRun', parameters: withThisRun },
  Delete: { operationId: 'deleteRun', parameters: withThisRun },
};
