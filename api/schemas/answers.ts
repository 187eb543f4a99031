import { z } from '@hono/zod-openapi';
import type { KeyScope } from '../../src/tenancy/core/scopes.ts';
import { success } from '../envelopes.ts';
import { type ErrorStatus, type FailureSurface, failureReference } from './failures.ts';
import { behindKey, headersOf, onAll } from './headers.ts';

export { runFailure } from './failures.ts';

/** What an integrator sees first. By dialect (`A`, `B`, and `B…` for more of them) where the route has dialects. */
export type Examples<Value> = Record<string, Value>;

interface Links {
  [name: string]: { operationId: string; parameters?: Record<string, string>; description?: string };
}

export interface AnswerMore<Value> {
  examples: Examples<Value>;
  /** What to do next, by names of operations: `create` leads to `get`. */
  links?: Links;
  /** Whether an Idempotency-Key may bring this answer again. */
  replayable?: boolean;
}

const summaries: [RegExp, string][] = [
  [/^A/, 'Dialect A'],
  [/^B/, 'Dialect B'],
];

const described = (examples: Examples<unknown>) =>
  Object.fromEntries(
    Object.entries(examples).map(([name, value]) => {
      const summary = summaries.find(([pattern]) => pattern.test(name))?.[1] ?? 'Example';
      return [name, { summary, value }];
    }),
  );

const json = <Schema extends z.ZodType>(schema: Schema, examples: Examples<unknown> | undefined) => ({
  'application/json': { schema, ...(examples && { examples: described(examples) }) },
});

const enveloped = (examples: Examples<unknown>) =>
  Object.fromEntries(Object.entries(examples).map(([name, data]) => [name, success(data)]));

const successHeaders = (replayable = false) =>
  headersOf([...onAll, ...behindKey], [...(replayable ? (['Idempotent-Replayed'] as const) : []), 'X-API-Deprecated']);

/** A success behind a key, of this shape, in the envelope `{success, data}`. */
export const answer = <Schema extends z.ZodType>(
  description: string,
  data: Schema,
  more?: AnswerMore<z.input<Schema>>,
) => ({
  description,
  headers: successHeaders(more?.replayable),
  ...(more?.links && { links: more.links }),
  content: json(z.object({ success: z.literal(true), data }), more && enveloped(more.examples)),
});

/** A success behind a key, without envelope. */
export const plainAnswer = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  examples?: Examples<z.input<Schema>>,
) => ({ description, headers: successHeaders(), content: json(schema, examples) });

/** A success behind a key that goes on until there is nothing left to say. */
export const streamAnswer = (description: string, examples: Examples<string>) => ({
  description,
  headers: { ...successHeaders(), ...headersOf(['X-Accel-Buffering']) },
  content: { 'text/event-stream': { schema: z.string(), examples: described(examples) } },
});

/** A success for which nobody needs a key, without envelope. `fresh` is what no cache may keep. */
export const openAnswer = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  { examples, fresh = false }: { examples: Examples<z.input<Schema>>; fresh?: boolean },
) => ({
  description,
  headers: headersOf([...onAll, ...(fresh ? (['Cache-Control'] as const) : [])]),
  content: json(schema, examples),
});

/** A success for which nobody needs a key and that has nothing to say. */
export const emptyAnswer = (description: string) => ({ description, headers: headersOf(onAll) });

/** A body of JSON, with examples that can be sent as they are. */
export const jsonContent = <Schema extends z.ZodType>(schema: Schema, examples: Examples<z.input<Schema>>) => ({
  'application/json': { schema, examples: described(examples) },
});

/** What a route behind a key asks for: either header, and the scope that its `requireKey` names. */
export const keySecurity = (scope?: KeyScope) => [{ bearer: scope ? [scope] : [] }, { apiKey: scope ? [scope] : [] }];

function references<Status extends ErrorStatus>(surface: FailureSurface, statuses: readonly Status[]) {
  const all = statuses.map((status) => [status, failureReference(status, surface)]);
  return Object.fromEntries(all) as Record<Status, ReturnType<typeof failureReference>>;
}

/** What every route behind a key can answer. */
const always = [400, 401, 429, 500, 503] as const;

/** The failures that a route of the versioned API can answer, beside those that every such route with a scope can. */
export const failures = <Status extends ErrorStatus>(...statuses: Status[]) =>
  references('versioned', [...statuses, 403, ...always]);

/** The same for a route that any key may use. */
export const anyKeyFailures = <Status extends ErrorStatus>(...statuses: Status[]) =>
  references('versioned', [...statuses, ...always]);

/** The same for a route that any key may use and that has no dialects. */
export const plainFailures = <Status extends ErrorStatus>(...statuses: Status[]) =>
  references('keyed', [...statuses, ...always]);

/** The failures of a route that has no key to refuse. */
export const openFailures = <Status extends ErrorStatus>(...statuses: Status[]) =>
  references('open', [...statuses, 429, 500]);
