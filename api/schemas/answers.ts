import { z } from '@hono/zod-openapi';
import { success } from '../envelopes.ts';
import { type ErrorStatus, type FailureSurface, surfaces } from './failures.ts';
import { behindKey, headersOf, onAll } from './headers.ts';

/** Example values by name. Where the route has dialects the names are `A` and `B`, and `B…` for more of them. */
export type Examples<Value> = Record<string, Value>;

interface Links {
  [name: string]: {
    operationId: string;
    parameters?: Record<string, string>;
    /** JSON with an expression between braces: members of the body that depend on this answer. */
    requestBody?: string;
    description?: string;
  };
}

interface AnswerMore<Value> {
  examples: Examples<Value>;
  /** The operations that can follow, by their ids: `create` leads to `get`. */
  links?: Links;
  /** Whether a request with the same Idempotency-Key gets this answer again. */
  replayable?: boolean;
}

/** `BEveryStepType` is `Dialect B: every step type`. */
function summaryOf(name: string): string {
  const [, dialect, more = ''] = /^([AB])([A-Z].*)?$/.exec(name) ?? [];
  if (!dialect) return 'Example';
  const words = more.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `Dialect ${dialect}${more && ':'}${words}`;
}

export const described = (examples: Examples<unknown>) =>
  Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { summary: summaryOf(name), value }]));

const json = <Schema extends z.ZodType>(schema: Schema, examples: Examples<unknown> | undefined) => ({
  'application/json': { schema, ...(examples && { examples: described(examples) }) },
});

const enveloped = (examples: Examples<unknown>) =>
  Object.fromEntries(Object.entries(examples).map(([name, data]) => [name, success(data)]));

const successHeaders = (replayable = false) =>
  headersOf([...onAll, ...behindKey], [...(replayable ? (['Idempotent-Replayed'] as const) : []), 'X-API-Deprecated']);

/** A successful answer to a request with a key, in the envelope `{success, data}`. */
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

const deletedData = { deleted: true as const };

/** The successful answer to every deletion: `{deleted: true}`. */
export const deletedAnswer = (description: string) =>
  answer(description, z.object({ deleted: z.literal(true) }), { examples: { A: deletedData, B: deletedData } });

/** The body of `deletedAnswer`. */
export const deleted = success(deletedData);

/** A successful answer to a request with a key, without envelope. */
export const plainAnswer = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  examples?: Examples<z.input<Schema>>,
) => ({ description, headers: successHeaders(), content: json(schema, examples) });

const eventStream = (examples: Examples<string>) => ({
  'text/event-stream': { schema: z.string(), examples: described(examples) },
});

/** A successful answer to a request with a key that is a stream of Server-Sent Events. */
export const streamAnswer = (description: string, examples: Examples<string>) => ({
  description,
  headers: { ...successHeaders(), ...headersOf(['X-Accel-Buffering']) },
  content: eventStream(examples),
});

/** A successful answer with its cost in a header: in the envelope `{success, data}`. */
export const paidAnswer = <Schema extends z.ZodType>(
  description: string,
  data: Schema,
  examples: Examples<z.input<Schema>>,
) => {
  const whole = answer(description, data, { examples, replayable: true });
  return { ...whole, headers: { ...whole.headers, ...headersOf(['X-Credits-Used']) } };
};

/** A successful answer that is an MP3 file, with its cost in a header. */
export const soundAnswer = (description: string) => ({
  description,
  headers: { ...successHeaders(true), ...headersOf(['X-Credits-Used', 'Content-Disposition']) },
  content: {
    'audio/mpeg': {
      schema: z.string().openapi({ format: 'binary' }),
      examples: { bytes: { summary: 'Example', value: '(the bytes of the file)' } },
    },
  },
});

/** The answer of a model: in the envelope `{success, data}` with its cost, or as a stream, which ends with the cost. */
export const replyAnswer = <Schema extends z.ZodType>(
  description: string,
  data: Schema,
  { examples, events }: { examples: Examples<z.input<Schema>>; events: Examples<string> },
) => {
  const whole = answer(description, data, { examples, replayable: true });
  return {
    ...whole,
    headers: { ...whole.headers, ...headersOf([], ['X-Credits-Used', 'X-Accel-Buffering']) },
    content: { ...whole.content, ...eventStream(events) },
  };
};

/**
 * An answer of a route without keys, without envelope. `fresh`: caches must not keep it. `retryAfter`: it names the time
 * of the next attempt.
 */
export const openAnswer = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  {
    examples,
    fresh = false,
    retryAfter = false,
  }: { examples: Examples<z.input<Schema>>; fresh?: boolean; retryAfter?: boolean },
) => ({
  description,
  headers: headersOf([
    ...onAll,
    ...(fresh ? (['Cache-Control'] as const) : []),
    ...(retryAfter ? (['Retry-After'] as const) : []),
  ]),
  content: json(schema, examples),
});

/** A successful answer of a route without keys, without a body. */
export const emptyAnswer = (description: string) => ({ description, headers: headersOf(onAll) });

/** A successful answer to a request with a key, without a body. */
export const keyedEmptyAnswer = (description: string) => ({ description, headers: successHeaders() });

/** A JSON body, with examples that can be sent as they are. */
export const jsonContent = <Schema extends z.ZodType>(schema: Schema, examples: Examples<z.input<Schema>>) => ({
  'application/json': { schema, examples: described(examples) },
});

/** The security of a route with keys: either header, with the scopes that its `requireKey` names. */
export const keySecurity = (...scopes: string[]) => [{ bearer: scopes }, { apiKey: scopes }];

type Reference = ReturnType<FailureSurface['general']>;

function references<Status extends ErrorStatus>(surface: FailureSurface, statuses: readonly Status[]) {
  const all = statuses.map((status) => [status, surface.general(status)]);
  return Object.fromEntries(all) as Record<Status, Reference>;
}

/** The failures of every route with keys: 404 where a session names an organization that is not the person's. */
const always = [400, 401, 403, 404, 429, 500, 503] as const;

/** The failures of a route of the versioned API: the given ones, and those of every such route. */
export const failures = <Status extends ErrorStatus>(...statuses: Status[]) =>
  references(surfaces.versioned, [...statuses, ...always]);

/** The same for a route without dialects. */
export const plainFailures = <Status extends ErrorStatus>(...statuses: Status[]) =>
  references(surfaces.unversioned, [...statuses, ...always]);

/** The same for chat, where a failure is only a message. */
export const chatFailures = <Status extends ErrorStatus>(...statuses: Status[]) =>
  references(surfaces.chat, [...statuses, ...always]);

/** The same for a route that answers failures in its own way. */
export const failuresOn =
  (surface: FailureSurface) =>
  <Status extends ErrorStatus>(...statuses: Status[]) =>
    references(surface, [...statuses, ...always]);

/** The same for a route without keys. */
export const publicFailures = <Status extends ErrorStatus>(...statuses: Status[]) =>
  references(surfaces.public, [...statuses, 429, 500]);
