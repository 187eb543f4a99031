import type { OpenAPIHono } from '@hono/zod-openapi';
import { onceOutside } from '../../../src/platform/database/claimed-work.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import { enhancePrompt } from '../../../src/studio/enhance-prompt.ts';
import type { ApiEnv } from '../../context.ts';
import { success } from '../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../idempotency.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { newRoutes } from '../../new-routes.ts';
import { operationsOf } from '../../operation.ts';
import { answer, jsonContent } from '../../schemas/answers.ts';
import { enhancedExamples } from '../../schemas/studio/examples.ts';
import { generationFailure } from '../../schemas/studio/failures.ts';
import { enhancedPromptSchema } from '../../schemas/studio/records.ts';
import { enhancePromptExamples, enhancePromptSchema } from '../../schemas/studio/requests.ts';

/** A claim outlives the longest wait by this. */
const claimedLongerMs = 60_000;

/** Improves prompts. It creates no generation: nothing is charged or listed in the history. */
export function enhancePromptRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Studio', key: requireKey(services, 'studio'), hasDialects: false });

  const enhance = operation({
    method: 'post' as const,
    path: '/enhance-prompt',
    operationId: 'enhancePrompt',
    'x-client-method': 'studio.prompts.enhance',
    summary: 'Improve a prompt',
    description: 'A text model describes the same subject in more detail. It is free.',
    body: jsonContent(enhancePromptSchema, enhancePromptExamples),
    idempotent: true,
    answers: {
      200: answer('Returns both prompts.', enhancedPromptSchema, { examples: enhancedExamples, replayable: true }),
      500: generationFailure,
    },
    failures: [409],
  });

  const routes = newRoutes();
  routes.openapi(enhance, async (c) => {
    const { prompt, style } = c.req.valid('json');
    const scope = c.get('scope');
    const limitMs = services.env.SYNC_WAIT_SECONDS * 1_000;
    const open = await services.openRequests.open(c.get('caller'), 'waitingRequests');
    try {
      const claimed = { claim: readIdempotency(c), limitMs: limitMs + claimedLongerMs };
      const { outcome, replayed } = await onceOutside(scope, claimed, () =>
        enhancePrompt(services, scope, { prompt, style }, { limitMs, signal: open.signal }),
      ).catch(async (error: unknown) => {
        throw open.signal.aborted ? ((await open.refusal()) ?? draining()) : error;
      });
      const refusal = await open.refusal();
      if (refusal) throw refusal;
      markReplayed(c, replayed);
      if ('failed' in outcome) throw new AppError('ai_provider_error', outcome.message, { reason: outcome.failed });
      return c.json(success({ original: prompt, enhanced: outcome.enhanced }), 200);
    } finally {
      open.close();
    }
  });
  return routes;
}

const draining = () =>
  new AppError('service_unavailable', 'The process is ending. Send the request again.', undefined, { retryAfter: 1 });
