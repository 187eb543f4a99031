import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { readAuditLog } from '../../../../src/operations/read-audit-log.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import { catalog, type Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { auditLogExamples, auditLogSchema, cursorQuery, defaultPageSize } from '../../../schemas/account/log.ts';
import { answer } from '../../../schemas/answers.ts';

const time = (name: string, description: string) =>
  z.iso
    .datetime({ offset: true })
    .optional()
    .openapi({ param: { name, in: 'query' }, description });

const filters = {
  actor: z
    .string()
    .max(64)
    .optional()
    .openapi({ param: { name: 'actor', in: 'query' }, description: '`key_…`, `usr_…`, `operator` or `system`.' }),
  action: z
    .string()
    .max(40)
    .optional()
    .openapi({ param: { name: 'action', in: 'query' }, description: '`<resource>.<verb>`' }),
  from: time('from', 'The earliest time.'),
  to: time('to', 'The time before which entries are shown.'),
};

function readCursor(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= 1 && number <= 2_147_483_647) return number;
  throw invalid([{ path: 'after', message: 'Expected the nextCursor of a page.' }]);
}

/** The acts in the organization, and their actors. */
export function auditLogRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Organization', key: requireKey(services, 'keys') });
  const list = operation({
    method: 'get',
    path: '/audit-log',
    operationId: 'listAuditLog',
    'x-client-method': 'auditLog.list',
    summary: 'List the audit log',
    description:
      'What people, keys and operators did in the organization, newest first. Entries are never changed. With filters a page may be short or empty before the end of the list: `nextCursor` is null only there.',
    query: z.object({ ...filters, ...cursorQuery }),
    answers: { 200: answer('A page of entries.', auditLogSchema, { examples: auditLogExamples }) },
  });
  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const { limit = defaultPageSize, after, from, to, actor, action } = c.req.valid('query');
    const filter = { actor, action, from: from ? new Date(from) : undefined, to: to ? new Date(to) : undefined };
    const page = { limit, after: readCursor(after) };
    const found = await readAuditLog(services.database, c.get('scope'), filter, page, catalog.auditActions);
    const nextCursor = found.next === null ? null : String(found.next);
    return c.json(success({ entries: found.entries, nextCursor }), 200);
  });
  return routes;
}
