import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { eventsOf } from '../../../../src/automation/core/run-events.ts';
import { isTerminal } from '../../../../src/automation/core/run-status.ts';
import { countFlowEvents, followFlow, isFlowRun } from '../../../../src/automation/runs/follow-flow.ts';
import { followRun } from '../../../../src/automation/runs/follow-run.ts';
import { getRun, type RunDetail } from '../../../../src/automation/runs/runs.ts';
import { DeltaReader, withDeltas } from '../../../../src/automation/step-texts/delta-reader.ts';
import type { Scope } from '../../../../src/platform/database/scope.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { alsoForTokens, requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { keyedEmptyAnswer, streamAnswer } from '../../../schemas/answers.ts';
import { exampleRunIds, runEventsExamples } from '../../../schemas/automation/run-examples.ts';
import { idInPath } from '../../../schemas/ids.ts';
import { namedRunInPath } from './named-runs.ts';
import { streamEvents, streamHead } from './stream-events.ts';

const nothingMore = keyedEmptyAnswer('The run has ended, and `Last-Event-ID` is its last event.');

/** Whether a stream has what models write. */
export const deltas = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional()
  .openapi({
    type: 'string',
    enum: ['true', 'false'],
    description:
      'With `true` also `step.delta` {runId, stepId, path?, offset, text}: what the models of prompt steps write, at most 20 a second, without an id. A text whose `offset` is 0 replaces what came before.',
  });

const eventIdPattern = /^\d{1,6}$/;

const lastEventId = z.string().regex(eventIdPattern, 'Expected an event id.').transform(Number).optional().openapi({
  type: 'string',
  pattern: eventIdPattern.source,
  description: 'The id of the last event you received. The stream continues after it.',
});

/** A run, and how many events it has in all once it has ended. */
async function read(scope: Scope, id: string): Promise<{ run: RunDetail; isFlow: boolean; sent: number | undefined }> {
  const run = await getRun(scope, id);
  const isFlow = await isFlowRun(scope, run.id);
  if (!isTerminal(run.status)) return { run, isFlow, sent: undefined };
  return { run, isFlow, sent: isFlow ? await countFlowEvents(scope, run) : eventsOf(run).length };
}

export function runEventRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { waiters, openRequests, stepTexts, boundedWork } = services;
  const operation = operationsOf({ tag: 'Runs', key: alsoForTokens(requireKey(services, 'runs:read')) });

  const events = operation({
    method: 'get',
    path: '/runs/{id}/events',
    operationId: 'streamRunEvents',
    'x-client-method': 'runs.events',
    summary: 'Stream the events of a run',
    description:
      'Server-Sent Events from the beginning of the run. After a lost connection, continue with `Last-Event-ID`. After the last event of a run that has ended the answer is 204, at which an EventSource stops reconnecting.',
    params: idInPath(exampleRunIds),
    query: z.object({ deltas }),
    headers: z.object({ 'last-event-id': lastEventId }),
    answers: {
      200: streamAnswer(
        'A stream that closes when the run has ended. Events: run.started, step.started, step.waiting, ' +
          'step.resumed, step.completed, step.failed, run.completed, run.failed, run.cancelled. Comments in between keep the connection open.',
        runEventsExamples,
      ),
      204: nothingMore,
    },
  });

  const routes = newRoutes();
  routes.openapi(events, async (c) => {
    const scope = c.get('scope');
    const id = await namedRunInPath(c);
    if (c.req.method === 'HEAD') {
      // No event follows, so nothing is opened that would have to be closed.
      await getRun(scope, id);
      return streamHead(c);
    }
    const open = await openRequests.open(c.get('caller'), 'eventStreams');
    const { run, isFlow, sent } = await read(scope, id).catch((error: unknown) => {
      open.close();
      throw error;
    });
    const after = c.req.valid('header')['last-event-id'] ?? 0;
    if (sent !== undefined && after >= sent) {
      open.close();
      return c.body(null, 204);
    }
    const events = (isFlow ? followFlow : followRun)(waiters, scope, run, after, open.signal);
    if (!c.req.valid('query').deltas) return streamEvents(c, open, boundedWork, events);
    const reader = new DeltaReader(stepTexts, scope.tenant, after > 0);
    return streamEvents(c, open, boundedWork, withDeltas(reader, events, run.id));
  });
  return routes;
}
