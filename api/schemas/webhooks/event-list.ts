import { z } from '@hono/zod-openapi';
import { eventTypes } from '../../../src/services.ts';
import { exampleBodyOf } from '../../../src/webhooks/core/event-body.ts';
import { formatCursor } from '../../../src/webhooks/core/event-cursor.ts';
import { testWebhook } from '../../../src/webhooks/core/events.ts';
import { integerInQuery, pageQuery } from '../pagination.ts';
import { anyEventSchema } from './event.ts';
import { eventTypeSchema } from './webhook.ts';

const maxWaitSeconds = 30;

export const eventListQuery = z.object({
  after: z
    .string()
    .optional()
    .openapi({
      param: { name: 'after', in: 'query' },
      description: 'The `nextCursor` of an earlier answer, at most seven days old. Default: the oldest event.',
    }),
  types: z
    .string()
    .transform((text) => text.split(','))
    .pipe(
      z
        .array(z.enum(eventTypes, 'Expected names of event types, separated by commas.'))
        .max(eventTypes.length, 'Expected each type once.'),
    )
    .optional()
    .openapi({
      param: { name: 'types', in: 'query', example: 'workflow.run.completed,workflow.run.failed' },
      type: 'string',
      description: 'Event types, separated by commas. Default: all.',
    }),
  limit: pageQuery.limit,
  waitSeconds: integerInQuery('waitSeconds', {
    minimum: 0,
    maximum: maxWaitSeconds,
    description: 'How long to wait for an event where there is none. Default 0.',
  }),
});

const expungedEventSchema = z
  .object({
    id: z.string(),
    type: eventTypeSchema,
    event: z.string().optional(),
    createdAt: z.iso.datetime(),
    data: z.null(),
    contentExpungedAt: z.iso.datetime(),
  })
  .openapi('ExpungedEvent', { description: 'An event whose content was removed with that of its deliveries.' });

export const eventListSchema = z.object({
  events: z.array(z.union([anyEventSchema, expungedEventSchema])),
  nextCursor: z.string().openapi({ description: 'Send it as `after` to continue. It is never null.' }),
});

const id = '0199eeee-ffff-7000-8111-22223333bbbb';
const page = {
  events: [{ ...exampleBodyOf(testWebhook) }],
  nextCursor: formatCursor({ transaction: 90_210n, eventId: id }),
};
export const eventListExamples = { A: page, B: page };
