import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { type EntryPosition, pageOfLedger } from '../../../../src/credits/ledger-entries.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import {
  creditEntriesExamples,
  creditEntriesSchema,
  cursorQuery,
  defaultPageSize,
  limitsExamples,
  limitsSchema,
} from '../../../schemas/account/log.ts';
import { answer } from '../../../schemas/answers.ts';
import { limitsInUse } from './limits-in-use.ts';

const position = z.object({
  at: z.string().regex(/^[\d :.+-]{10,40}$/),
  key: z.string().max(200),
  phase: z.int().min(-32_768).max(32_767),
});

const writeCursor = (of: EntryPosition): string => Buffer.from(JSON.stringify(of)).toString('base64url');

function readCursor(text: string | undefined): EntryPosition | undefined {
  if (text === undefined) return undefined;
  try {
    const found = position.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
    if (!Number.isNaN(Date.parse(found.at))) return found;
  } catch {
    // Refused below.
  }
  throw invalid([{ path: 'after', message: 'Expected the nextCursor of a page.' }]);
}

/** The ledger's statement, and the limits of the plan. */
export function statementRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Account', key: requireKey(services) });
  const entries = operation({
    method: 'get',
    path: '/credits/entries',
    operationId: 'listCreditEntries',
    'x-client-method': 'credits.entries.list',
    summary: 'List credit entries',
    description: "The ledger's entries of the environment, newest first. Entries are never changed.",
    query: z.object(cursorQuery),
    answers: { 200: answer('A page of entries.', creditEntriesSchema, { examples: creditEntriesExamples }) },
  });
  const limits = operation({
    method: 'get',
    path: '/limits',
    operationId: 'getLimits',
    'x-client-method': 'limits.get',
    summary: 'Retrieve the limits of the plan',
    description:
      'The limits of the plan, by the names that refusals use, and how much of each is used. `used` is null where nothing is counted. Counts end at 100,000. `keys` counts the usable keys of both environments. Credits and waiting deliveries lag by some seconds.',
    answers: { 200: answer('Returns the limits.', limitsSchema, { examples: limitsExamples }) },
  });
  const routes = newRoutes();
  routes.openapi(entries, async (c) => {
    const { limit = defaultPageSize, after } = c.req.valid('query');
    const found = await pageOfLedger(c.get('scope'), { limit, after: readCursor(after) });
    const shown = found.entries.map(
      ({ createdAt, step, operation: of, key, monthly, lasting, held, spent, reason }) => ({
        at: createdAt.toISOString(),
        step,
        operation: of,
        key,
        available: monthly + lasting,
        reserved: held,
        spent,
        reason,
      }),
    );
    const nextCursor = found.next === null ? null : writeCursor(found.next);
    return c.json(success({ entries: shown, nextCursor }), 200);
  });
  routes.openapi(limits, async (c) => {
    const { plan } = c.get('caller');
    return c.json(success({ plan, limits: await limitsInUse(services, c.get('scope'), c.get('caller')) }), 200);
  });
  return routes;
}
