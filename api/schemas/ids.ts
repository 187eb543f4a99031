import { z } from '@hono/zod-openapi';

interface IdExamples {
  A: string;
  B: string;
}

const idText = (name: string, examples: IdExamples) =>
  z.string().openapi({
    param: {
      name,
      in: 'path',
      examples: {
        A: { summary: 'As dialect A writes it', value: examples.A },
        B: { summary: 'As dialect B writes it', value: examples.B },
      },
    },
    description: 'Either form is read in either dialect.',
  });

/** The `{id}` of a path, in either form. The example of each dialect shows its own. */
export const idInPath = (examples: IdExamples) => z.object({ id: idText('id', examples) });

/** The same where it is called `{workflowId}`. */
export const workflowIdInPath = (examples: IdExamples) => z.object({ workflowId: idText('workflowId', examples) });
