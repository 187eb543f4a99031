const withThisRun = { id: '$response.body#/data/runId' };

/** What can be done with a run that an answer names in `runId`. */
export const runLinks = {
  Follow: { operationId: 'followRun', parameters: withThisRun },
  Read: { operationId: 'getRun', parameters: withThisRun },
  Output: { operationId: 'getStepOutput', parameters: { ...withThisRun, stepId: 'summarize' } },
  Retry: { operationId: 'retryRun', parameters: withThisRun },
  Cancel: { operationId: 'cancelRun', parameters: withThisRun },
};
