import { AppError } from '../../../src/platform/errors.ts';
import { exampleId, surfaces } from '../failures.ts';
import { behindKey } from '../headers.ts';

/** The 500 of an operation that waits for a run. */
export const runFailure = surfaces.versioned.response({
  name: 'RunFailedError',
  description:
    'The run failed, or something went wrong on our side. For a failed run `details` is {runId, stepId, code, message}.',
  example: new AppError('ai_provider_error', 'The provider refused the request.', {
    runId: exampleId,
    stepId: 'summarize',
    code: 'service_unavailable',
    message: 'The provider refused the request.',
  }),
  sometimes: [...behindKey, 'Idempotent-Replayed'],
});
