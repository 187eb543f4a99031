import { z } from '@hono/zod-openapi';
import { runIds, workflowIds } from '../src/automation/core/ids.ts';
import { invalid } from '../src/platform/errors.ts';
import { fingerprintOf, type IdempotencyClaim, idempotencyKeyPattern } from '../src/platform/idempotency.ts';
import { deliveryIds, webhookIds } from '../src/webhooks/core/ids.ts';
import type { ApiContext } from './surface.ts';

export const idempotencyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .optional()
    .openapi({
      param: { name: 'Idempotency-Key', in: 'header' },
      description: 'Up to 255 characters. The same key and body within 24 hours give the first answer again.',
    }),
});

const prefix = /^(?:\/api)?\/v1\//;

/** Of things that can stand in the path of a POST. */
const kinds = [workflowIds, runIds, webhookIds, deliveryIds];

const canonicalId = (part: string): string =>
  kinds.map((ids) => ids.parse(part)).find((uuid) => uuid !== undefined) ?? part;

/** `/v1` and `/api/v1` are one place, and so are the two forms of an id. */
const canonicalPath = (path: string) => path.replace(prefix, '/api/v1/').split('/').map(canonicalId).join('/');

/** What a request's Idempotency-Key is bound to, when it has one. @throws AppError validation_error */
export function readIdempotency(c: ApiContext): IdempotencyClaim | undefined {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return undefined;
  if (!idempotencyKeyPattern.test(key)) {
    throw invalid([{ path: 'Idempotency-Key', message: 'Expected 1 to 255 printable characters.' }]);
  }
  return { method: c.req.method, path: canonicalPath(c.req.path), key, fingerprint: fingerprintOf(c.get('body')) };
}
