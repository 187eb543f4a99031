import { z } from 'zod';

/** The JSON Schema of what a schema accepts, for one that hides it from the reference. */
export function documentedAs(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...documented } = z.toJSONSchema(schema, { io: 'input' });
  return documented;
}

const dropped = '__proto__';

/**
 * Checks an object with any members and keeps it as it was given, because Zod leaves out a member called `__proto__`.
 * @param schema without transformations
 * @param member checks a member called `__proto__`
 */
export function asGiven<Schema extends z.ZodType<object>>(
  schema: Schema,
  member: z.ZodType = z.unknown(),
): z.ZodType<z.output<Schema>> {
  return z
    .any()
    .superRefine((given, { addIssue }) => {
      const refuse = (path: PropertyKey[], message: string) =>
        addIssue({ code: 'custom', path, message, continue: false });
      const { error } = schema.safeParse(given);
      if (error) {
        for (const { path, message } of error.issues) refuse([...path], message);
        return;
      }
      const members = new Map<string, unknown>(Object.entries(given));
      const [wrong] = (members.has(dropped) && member.safeParse(members.get(dropped)).error?.issues) || [];
      if (wrong) refuse([dropped, ...wrong.path], wrong.message);
    })
    .meta(documentedAs(schema)) as z.ZodType<z.output<Schema>>;
}
