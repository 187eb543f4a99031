import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { catalog } from '../../../../src/integrations/catalog.ts';
import type { Inbound, InboundRequest } from '../../../../src/integrations/definition/inbound.ts';
import { integrationNotFound } from '../../../../src/integrations/errors.ts';
import { type Proven, proveProvider, proveSender } from '../../../../src/integrations/inbound/prove.ts';
import { takeNotices } from '../../../../src/integrations/inbound/take-notices.ts';
import { clock } from '../../../../src/platform/clock.ts';
import { withoutSlash } from '../../../../src/platform/core/base-url.ts';
import { readJson } from '../../../../src/platform/core/bounded-json.ts';
import { AppError, invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import { findRateLimits } from '../../../../src/tenancy/plans/find-rate-limits.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { limitRequests } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { limitedRange } from '../../../requests/client-address.ts';
import { withUnprovenBody } from '../../../requests/unproven-body.ts';
import { receiveOperation } from '../../../schemas/inbound.ts';
import { capitalized } from '../../../schemas/integrations/action.ts';
import { inboundExamples } from '../../../schemas/integrations/inbound-examples.ts';
import { requireIntegration } from './require-integration.ts';

const maxNotices = 1_000;

/** A request before its body is read. */
function readHead(c: ApiContext, publicUrl: string): InboundRequest {
  const { pathname, search, searchParams: query } = new URL(c.req.url);
  const url = withoutSlash(publicUrl) + pathname + search;
  return { headers: c.req.header(), query, body: Buffer.alloc(0), json: undefined, url };
}

/** A body is parsed when something needs its content, which a signature over its bytes does not. */
function withBody(head: InboundRequest, body: Buffer): InboundRequest {
  let json: { parsed: unknown } | undefined;
  return {
    headers: head.headers,
    query: head.query,
    url: head.url,
    body,
    get json() {
      // NUL and lone surrogates are allowed: people write them to each other.
      json ??= { parsed: readJson(body, body.length) };
      return json.parsed;
    },
  };
}

/** The answer to a provider's verification of the address; undefined for any other request. */
function answerHandshake(c: ApiContext, { handshake }: Inbound, request: InboundRequest, isProven: boolean) {
  if (!handshake || (handshake.isSigned && !isProven)) return undefined;
  const answer = handshake.answer(request);
  if (!answer) return undefined;
  return 'text' in answer ? c.text(answer.text, 200) : c.json(answer.json, 200);
}

/** The address of a provider's events in the reference. */
const eventsOperation = (id: string, name: string, { acknowledged, handshake }: Inbound) =>
  receiveOperation(
    `/${id}/events`,
    `receive${capitalized(id)}Events`,
    {
      summary: `Receive events of ${name}`,
      description: [
        `${name} sends events here in its own form, and authenticates them with a signature, a secret header or a token.`,
        'Events of connected accounts are published to webhooks, each once, however often they are sent. A request has at most',
        `1 MiB and ${maxNotices} events. The verification of the address is answered as ${name} expects. Requests that are`,
        'signed for the sandbox (`sandbox.eventsUrl` of an integration that a test key connected) count toward the limits of the',
        'organization: each of their events as a request.',
      ].join(' '),
    },
    {
      body: { schema: z.unknown(), example: inboundExamples[id] ?? {} },
      status: acknowledged,
      verification: handshake?.answers,
    },
  );

/**
 * Receives the events of providers, without a key: each provider proves its identity in its own way. A request is
 * acknowledged once its events are committed. Providers repeat unacknowledged events; each event is published once.
 */
export function eventRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { addressLimits, database, env } = services;
  const addressOf = (c: ApiContext) => limitedRange(c.get('clientAddress')());

  /** @throws AppError unauthorized, with the same message for every cause; rate_limit_exceeded */
  function refuse(c: ApiContext): never {
    addressLimits.take('unproven', addressOf(c));
    throw new AppError('unauthorized', 'The request is not signed by the provider, or too old.');
  }

  /**
   * Signed requests for a sandbox count toward the limits of its keys, each event as a request.
   * @throws AppError rate_limit_exceeded; payload_too_large for more events than a whole window holds
   */
  async function limitSandbox(c: ApiContext, { sandbox, notices }: Proven): Promise<void> {
    if (!sandbox) return;
    const limits = await findRateLimits(database, sandbox.organizationId);
    const { organizationId, environment } = sandbox;
    const events = notices?.length ?? 0;
    const limit = Math.min(limits.perMinute, limits.perDay);
    if (events > limit) {
      const message = `The request brings ${events} events. Each counts as a request, and the rate limit is ${limit}.`;
      throw new AppError('payload_too_large', message, { events, limit });
    }
    await limitRequests(c, services, { organizationId, environment }, limits, Math.max(1, events));
  }

  const routes = newRoutes();
  for (const { id, name, inbound } of catalog) {
    if (inbound) routes.openAPIRegistry.registerPath(eventsOperation(id, name, inbound));
  }
  routes.post('/:integrationId/events', async (c) => {
    const id = c.req.param('integrationId');
    const integration = requireIntegration(id);
    const { inbound } = integration;
    if (!inbound) throw integrationNotFound(id);
    const now = clock.now();
    const head = readHead(c, env.PUBLIC_URL);
    const unsigned = answerHandshake(c, inbound, head, false);
    if (unsigned) return unsigned;
    const maxBytes = inbound.maxBodyBytes(head.headers, now);
    if (maxBytes === undefined) return refuse(c);
    // For an address over its limit the body is not parsed: the provider's own signature is proved by the bytes.
    const isLimited = addressLimits.refusal('unproven', addressOf(c)) !== undefined;
    const { request, proven } = await withUnprovenBody(c, maxBytes, async (body) => {
      const read = withBody(head, body);
      const prove = isLimited ? proveProvider : proveSender;
      return { request: read, proven: await prove(services, integration, inbound, read, now) };
    });
    if (!proven) return refuse(c);
    const { notices } = proven;
    await limitSandbox(c, proven);
    const signed = answerHandshake(c, inbound, request, true);
    if (signed) return signed;
    if (!notices || notices.length > maxNotices) {
      throw invalid([{ path: '', message: `Expected at most ${maxNotices} events in the form of the provider.` }]);
    }
    await takeNotices(services, integration, { ...proven, notices }, c.get('correlationId'));
    return c.json({ received: true }, inbound.acknowledged);
  });
  return routes;
}
