import { z } from '@hono/zod-openapi';

/** The `{id}` of a path, in either form. The example of each dialect shows its own. */
export const idInPath = (examples: { A: string; B: string }) =>
  z.object({
    id: z.string().openapi({
      param: {
        name: 'id',
        in: 'path',
        examples: {
          A: { summary: 'As dialect A writes it', value: examples.A },
          B: { summary: 'As dialect B writes it', value: examples.B },
        },
      },
      description: 'Either form is read in either dialect.',
    }),
  });
