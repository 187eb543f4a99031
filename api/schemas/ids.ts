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
        A: { summary: 'In dialect A', value: examples.A },
        B: { summary: 'In dialect B', value: examples.B },
      },
    },
    description: 'Both forms are accepted in both dialects.',
  });

/** The `{id}` of a path, in either form, with an example for each dialect. */
export const idInPath = (examples: IdExamples) => z.object({ id: idText('id', examples) });

/** An id in a path that both dialects write alike. */
export const prefixedIdInPath = <Name extends string>(name: Name, example: string) =>
  z.object({
    [name]: z
      .string()
      .openapi({ param: { name, in: 'path', example }, description: 'The prefixed id. Its UUID is accepted too.' }),
  } as Record<Name, z.ZodString>);
