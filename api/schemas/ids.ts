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

/** An id that both dialects write alike, by this name in a path. */
export const prefixedIdInPath = <Name extends string>(name: Name, example: string) =>
  z.object({
    [name]: z
      .string()
      .openapi({ param: { name, in: 'path', example }, description: 'As it is shown; its uuid is read too.' }),
  } as Record<Name, z.ZodString>);
