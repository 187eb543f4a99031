import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { followRuns } from '../../../../src/automation/run-streams/follow-runs.ts';
import { DeltaReader, withDeltas } from '../../../../src/automation/step-texts/delta-reader.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { alsoForTokens, requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { streamAnswer } from '../../../schemas/answers.ts';
import { runsEventsExamples } from '../../../schemas/automation/run-examples.ts';
import { runSearchQuery } from '../../../schemas/automation/run-search.ts';
import { namedRuns } from './named-runs.ts';
import { deltas } from './run-events.ts';
import { filterOf } from './run-search.ts';
import { streamEvents, streamHead } from './stream-events.ts';

const filters = runSearchQuery.pick({ workflowId: true, tag: true, batchId: true, parentRunId: true });

const lastEventId = z.string().max(2_000).optional().openapi({
  description: 'The id of the last event you received, of the last hour. The stream continues after it.',
});

/** One stream of the events of many runs. */
export function runsEventRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { openRequests, stepTexts, streamReads, boundedWork } = services;
  const operation = operationsOf({ tag: 'Runs', key: alsoForTokens(requireKey(services, 'runs:read')) });

  const events = operation({
    method: 'get',
    path: '/runs/events',
    operationId: 'streamRunsEvents',
    'x-client-method': 'runs.followMany',
    summary: 'Stream the events of many runs',
    description:
      'Server-Sent Events of all runs that match the filter, from now on, each with its `runId`: those that have not ended, the newest 1,000, and those that are created later. Give exactly one of `workflowId`, `tag`, `batchId` and `parentRunId`. After a lost connection, continue with `Last-Event-ID` within an hour. The stream never closes, and counts as one stream.',
    query: filters.extend({ deltas }),
    headers: z.object({ 'last-event-id': lastEventId }),
    answers: {
      200: streamAnswer(
        'A stream of the events that `GET /runs/{id}/events` has. Comments in between keep the connection open.',
        runsEventsExamples,
      ),
    },
  });

  const routes = newRoutes();
  routes.openapi(events, async (c) => {
    const { deltas: hasDeltas, ...query } = c.req.valid('query');
    const given = Object.values(query).filter((value) => value !== undefined);
    if (given.length !== 1) {
      throw invalid([{ path: 'workflowId', message: 'Give exactly one of workflowId, tag, batchId and parentRunId.' }]);
    }
    if (c.req.method === 'HEAD') return streamHead(c);
    const scope = c.get('scope');
    const open = await openRequests.open(c.get('caller'), 'eventStreams');
    try {
      const after = c.req.valid('header')['last-event-id'];
      const reader = hasDeltas ? new DeltaReader(stepTexts, scope.tenant, after !== undefined) : undefined;
      const found = await followRuns(scope, namedRuns(c, filterOf(query)), after, {
        reads: streamReads,
        left: (runId) => reader?.leave(runId),
        stop: open.signal,
      });
      return streamEvents(c, open, boundedWork, reader ? withDeltas(reader, found) : found);
    } catch (error) {
      open.close();
      throw error;
    }
  });
  return routes;
}
