import { expect, test } from '@jest/globals';
import { keyIds } from '../../src/tenancy/core/ids.ts';
import { createKey, revokeKey } from '../../src/tenancy/keys.ts';
import { hasErrorMessage } from '../openapi/document.ts';
import { brokenBody, type SharedWalk } from './shared-walk.ts';

/** An address may fail 100 times a minute. The tests speak from a trusted proxy, so each operation has one of its own. */
const addressOf = (index: number) => `198.18.${Math.floor(index / 250)}.${1 + (index % 250)}`;

export function checkAuthentication(walk: SharedWalk): void {
  test('refuses no key, a bad one, an expired and a revoked one, before it looks at anything else', async () => {
    const { database } = walk.product;
    const { organizationId } = walk.owner;
    const expired = await createKey(database, {
      organizationId,
      environment: 'test',
      expires: new Date(Date.now() + 3_600_000).toISOString(),
    });
    await database.pool.query("update api_key set expires_at = now() - interval '1 second' where id = $1", [
      keyIds.parse(expired.id),
    ]);
    const revoked = await createKey(database, { organizationId, environment: 'test' });
    await revokeKey(database, revoked.id);
    const keys: [string | undefined, string][] = [
      [undefined, 'missing_api_key'],
      ['sk_test_nonsense', 'invalid_api_key'],
      [expired.key, 'expired_api_key'],
      [revoked.key, 'invalid_api_key'],
    ];
    await walk.changesNothing(async () => {
      for (const [key, reason] of keys) {
        const client = walk.client(key);
        for (const [index, operation] of walk.ofKeys.entries()) {
          const { method, ownPath, endpoint: of } = operation;
          const headers = { 'x-forwarded-for': addressOf(index) };
          const { status, body } = await client.request(method, ownPath, brokenBody(operation), headers);
          expect({ of, status, error: body.error }).toMatchObject({
            of,
            status: 401,
            error: hasErrorMessage(operation) ? 'Unauthorized' : { code: 'unauthorized', details: { reason } },
          });
        }
      }
    });
  });
}
