import { z } from '@hono/zod-openapi';
import { type ActionRunView, publishedStatuses } from '../../../src/integrations/actions/action-runs.ts';
import { catalog } from '../../../src/integrations/catalog.ts';
import { prefixedIdInPath } from '../ids.ts';

const actionRunId = 'act_0199aaaabbbb7ccc8dddeeeeffff0000';

export const actionRunInPath = prefixedIdInPath('actionRunId', actionRunId);

const time = z.string().openapi({ format: 'date-time' });

export const actionRunSchema = z
  .object({
    actionRunId: z.string(),
    integration: z.string().openapi({ enum: catalog.map(({ id }) => id) }),
    action: z.string(),
    status: z.enum(publishedStatuses).openapi({
      description:
        '`scheduled`: it waits for its time. `running`: the request to the provider is under way, or about to be. `unknown`: the answer of the provider was lost, so it may have performed the action, which is not repeated.',
    }),
    runAt: time.openapi({ description: 'When the action is due.' }),
    endedAt: time.nullable().openapi({ description: 'Null until it has ended.' }),
    error: z
      .object({
        code: z.string().openapi({ description: 'The code of the error that an action without a delay gets.' }),
        message: z.string(),
        providerCode: z.string().optional().openapi({ description: "The provider's own code." }),
      })
      .nullable()
      .openapi({ description: 'Why it failed, or why its outcome is unknown.' }),
  })
  .openapi('ActionRun');

const scheduled: ActionRunView = {
  actionRunId,
  integration: 'linkedin',
  action: 'send_connection',
  status: 'scheduled',
  runAt: '2026-11-20T09:30:00.000Z',
  endedAt: null,
  error: null,
};
const cancelled: ActionRunView = { ...scheduled, status: 'cancelled', endedAt: '2026-11-20T08:10:00.000Z' };
const failed: ActionRunView = {
  ...scheduled,
  status: 'failed',
  endedAt: '2026-11-20T09:30:01.000Z',
  error: { code: 'not_connected', message: 'The integration is not connected.' },
};

export const actionRunExamples = { A: scheduled, B: scheduled, AFailed: failed, BFailed: failed };
export const cancelledActionRunExamples = { A: cancelled, B: cancelled };
