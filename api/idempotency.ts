import { z } from '@hono/zod-openapi';
import type { ResourceId } from '../src/platform/core/ids.ts';
import { fingerprintOf, type IdempotencyClaim, idempotencyKeyPattern } from '../src/platform/database/idempotency.ts';
import { invalid } from '../src/platform/errors.ts';
import type { ApiContext } from './context.ts';
import { canonicalPath } from './surface.ts';

export const idempotencyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .optional()
    .openapi({
      param: { name: 'Idempotency-Key', in: 'header' },
      minLength: 1,
      maxLength: 255,
      // Spaces around the value of a header are no part of it.
      pattern: '^[!-~]([ -~]*[!-~])?$',
      description:
        'Up to 255 characters. A request with the same key and body within 24 hours gets the first answer again.',
    }),
});

const canonicalId = (ids: readonly ResourceId[], part: string): string =>
  ids.map((one) => one.parse(part)).find((uuid) => uuid !== undefined) ?? part;

/** One path for every way to write it: below either prefix, and with ids in either form. */
function claimedPath(c: ApiContext): string {
  const surface = c.get('surface');
  const parts = canonicalPath(surface, c.req.path).split('/');
  return parts.map((part) => canonicalId(surface.ids, part)).join('/');
}

/** The claim of a request with an Idempotency-Key; undefined without one. @throws AppError validation_error */
export function readIdempotency(c: ApiContext): IdempotencyClaim | undefined {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return undefined;
  if (!idempotencyKeyPattern.test(key)) {
    throw invalid([{ path: 'Idempotency-Key', message: 'Expected 1 to 255 printable characters.' }]);
  }
  return { method: c.req.method, path: claimedPath(c), key, fingerprint: fingerprintOf(c.get('body')) };
}

/** Marks the answer as that of an earlier request with the same Idempotency-Key. */
export function markReplayed(c: ApiContext, replayed: boolean): void {
  if (replayed) c.header('Idempotent-Replayed', 'true');
}
