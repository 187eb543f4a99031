import { type RouteConfig, z } from '@hono/zod-openapi';
import { emptyAnswer, openAnswer, publicFailures } from './answers.ts';
import { headersOf, onAll } from './headers.ts';

/** Addresses that browsers and providers call, with the name of their group in the reference. */
export const inboundTag = {
  name: 'Inbound',
  description:
    'Addresses that browsers and providers call, not your programs. They take no key: each request proves its origin in its own way.',
};
const tags = [inboundTag.name];

const page = (description: string) => ({
  description,
  headers: headersOf(onAll),
  content: {
    'text/html': { schema: z.string(), examples: { page: { summary: 'Example', value: '<!doctype html>…' } } },
  },
});

const refusal = page('The `state` fits no open request: a page, or JSON where `Accept` asks for it.');

const text = (description: string) => z.string().optional().openapi({ description });

/** Where the owner of an account comes back to after a consent. */
export const callbackOperation = (path: string, operationId: string, of: string): RouteConfig => ({
  method: 'get',
  path,
  operationId,
  summary: `Complete the connection of ${of}`,
  description:
    'The provider sends the browser of the owner here. `state` is that of the request to connect: it can be used once, within 600 seconds. The browser is sent on to `redirectUrl` with the outcome in its query, or sees a page. A `state` that fits no open request is answered with 400: as a page, or as JSON where `Accept` asks for it.',
  tags,
  security: [],
  request: {
    query: z.object({
      state: z.string().openapi({ description: 'The state of the request to connect.' }),
      code: text('The code of the provider, for access that was granted.'),
      error: text('Why access was not granted, as in RFC 6749.'),
    }),
  },
  responses: {
    200: page('The outcome, as a page.'),
    302: emptyAnswer('The browser is sent on to `redirectUrl`.'),
    ...publicFailures(),
    400: {
      ...refusal,
      content: { ...refusal.content, 'application/json': { schema: { $ref: '#/components/schemas/ErrorResponse' } } },
    },
  },
});

/** The page on which a test key's request to connect is granted at once. */
export const sandboxConsentOperation = (path: string, operationId: string, of: string): RouteConfig => ({
  method: 'get',
  path,
  operationId,
  summary: `Grant or refuse access to ${of} of the sandbox`,
  description:
    'The `authUrl` of a test key. It grants access at once and sends the browser on to the callback; with `deny=true` it refuses.',
  tags,
  security: [],
  request: {
    query: z.object({
      state: z.string().openapi({ description: 'The state of the request to connect.' }),
      deny: z
        .enum(['true', 'false'])
        .optional()
        .openapi({ description: 'Whether access is refused. Default `false`.' }),
    }),
  },
  responses: { 302: emptyAnswer('The browser is sent on to the callback.'), ...publicFailures(400) },
});

const received = z.object({ received: z.literal(true) }).openapi('EventReceipt');

const receivedOrVerified = z
  .object({
    received: z.literal(true).optional(),
    challenge: z
      .string()
      .optional()
      .openapi({ description: 'The only member of the answer to the verification of the address.' }),
  })
  .openapi('SlackEventReceipt');

interface ReceiveMore {
  params?: z.ZodObject;
  /** The message of the provider; absent if everything is in headers. */
  body?: { schema: z.ZodType; example: unknown };
  /** 200 unless given. */
  status?: 200 | 202;
  /** How the verification of the address is answered: with its challenge as JSON, or with its text. */
  verification?: 'challenge' | 'text' | undefined;
}

/** Where a provider sends what happened. */
export const receiveOperation = (
  path: string,
  operationId: string,
  { summary, description }: { summary: string; description: string },
  { params, body, status = 200, verification }: ReceiveMore,
): RouteConfig => ({
  method: 'post',
  path,
  operationId,
  summary,
  description,
  tags,
  security: [],
  request: {
    ...(params && { params }),
    ...(body && {
      body: {
        required: true,
        content: {
          'application/json': {
            schema: body.schema,
            examples: { body: { summary: 'Example', value: body.example } },
          },
        },
      },
    }),
  },
  responses: {
    ...(verification === 'text' && {
      200: {
        description: 'The verification of the address.',
        headers: headersOf(onAll),
        content: { 'text/plain': { schema: z.string(), examples: { token: { summary: 'Example', value: 'token' } } } },
      },
    }),
    [status]: openAnswer(
      'The request was stored. Its effects follow.',
      verification === 'challenge' ? receivedOrVerified : received,
      { examples: { received: { received: true as const } } },
    ),
    ...publicFailures(400, 401, 413),
  },
});
