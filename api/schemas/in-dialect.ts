import { z } from '@hono/zod-openapi';

/**
 * Names the schema of an answer of one dialect. `mark` is a member that the other dialect's answer lacks, or has with
 * other values: clients distinguish the two by it.
 * @param name ends in the dialect
 */
export const inDialect = <Shape extends z.ZodRawShape>(
  name: `${string}${'A' | 'B'}`,
  mark: keyof Shape & string,
  shape: Shape,
) => z.object(shape).openapi(name, { description: `Dialect ${name.at(-1)}, recognized by \`${mark}\`.` });

/** A value of a named schema, or null. With `.nullable()` the component itself would be nullable, wherever it is used. */
export const orNull = <Schema extends z.ZodType>(named: Schema) => z.union([named, z.null()]);
