import { z } from '@hono/zod-openapi';

export const searchQuery = z.object({
  q: z
    .string()
    .min(2)
    .max(200)
    .regex(/^[^\0]*$/, 'Expected a text without NUL.')
    .openapi({
      param: { name: 'q', in: 'query' },
      description:
        'An id, a correlation id, a part of the name of a workflow or event type, or the e-mail address of an attendee.',
      example: 'Onboarding',
    }),
});

export const hitsSchema = z
  .object({
    hits: z.array(
      z.object({
        type: z
          .string()
          .openapi({ description: 'run, workflow, booking, event_type, generation, delivery or webhook' }),
        id: z.string(),
        title: z.string(),
        at: z.iso.datetime(),
        parentId: z.string().optional().openapi({
          description:
            'The id of the resource that the path of the hit begins with, such as the webhook of a delivery. Absent if the path begins with the hit itself.',
        }),
      }),
    ),
  })
  .openapi('SearchHits');

const hits = (id: string) => ({
  hits: [{ type: 'workflow', id, title: 'Onboarding', at: '2026-12-01T09:00:00.000Z' }],
});
export const hitsExamples = {
  A: hits('0199dddd-1111-7222-8333-444455556666'),
  B: hits('wf_0199dddd111172228333444455556666'),
};
