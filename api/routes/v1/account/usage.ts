import type { OpenAPIHono } from '@hono/zod-openapi';
import { creditsUsed } from '../../../../src/credits/balance.ts';
import { clock } from '../../../../src/platform/clock.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import { keyIds } from '../../../../src/tenancy/core/ids.ts';
import {
  keptDays,
  type UsageAmounts,
  type UsageDimension,
  type UsageGroup,
  type UsageSpan,
  usageBetween,
  usageGroups,
} from '../../../../src/tenancy/usage/usage-groups.ts';
import { readUsage } from '../../../../src/tenancy/usage/usage-months.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { usageExamples, usageQuery, usageSchema } from '../../../schemas/account/usage.ts';
import { answer } from '../../../schemas/answers.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** What each dimension counts. */
const countedBy: Record<UsageDimension, readonly (keyof UsageAmounts)[]> = {
  day: ['requests', 'runs', 'failedRuns', 'tokens', 'credits', 'deliveries', 'failedDeliveries'],
  hour: ['requests', 'runs', 'failedRuns', 'tokens', 'credits', 'deliveries', 'failedDeliveries'],
  kind: ['runs', 'failedRuns', 'tokens', 'credits', 'deliveries', 'failedDeliveries'],
  workflow: ['runs', 'failedRuns', 'tokens'],
  model: ['tokens', 'credits'],
  key: ['requests', 'runs', 'tokens', 'credits'],
  error: ['failedRuns'],
};

const isHourly = (dimension: UsageDimension | undefined): boolean => dimension === 'hour' || dimension === 'error';

const refused = (path: string, message: string) => invalid([{ path, message }]);

/** The requested whole days, or hours, of a query. @throws AppError validation_error */
function spanOf(from: string | undefined, to: string | undefined, dimension: UsageDimension | undefined): UsageSpan {
  const unit = isHourly(dimension) ? hourMs : dayMs;
  const first = from === undefined ? new Date(to ?? clock.now()) : new Date(from);
  const start = from === undefined ? Date.UTC(first.getUTCFullYear(), first.getUTCMonth()) : first.getTime();
  const end = to === undefined ? Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1) : Date.parse(to);
  const span = { from: new Date(Math.floor(start / unit) * unit), to: new Date(Math.ceil(end / unit) * unit) };
  if (span.to <= span.from) throw refused('to', 'Expected a time after from.');
  const days = isHourly(dimension) ? keptDays.hours : keptDays.days;
  if (span.to.getTime() - span.from.getTime() > days * dayMs) {
    throw refused('from', `Expected at most ${days} days before to.`);
  }
  return span;
}

const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Usage of the month, or of a given time by groups. */
export function usageRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Account', key: requireKey(services) });

  const read = operation({
    method: 'get',
    path: '/usage',
    operationId: 'getUsage',
    'x-client-method': 'usage.get',
    summary: 'Retrieve usage',
    description: `Usage of the key's environment, in the current UTC month unless \`from\` or \`to\` say otherwise. Runs, tokens and credits of the current month are exact. Requests, other times and \`groups\` are counted every five seconds, so the last seconds may be missing; a process that is killed loses them. Days are kept for ${keptDays.days} days, and hours and errors for ${keptDays.hours} days. A longer time is answered with 400.`,
    query: usageQuery,
    answers: { 200: answer('Returns the usage.', usageSchema, { examples: usageExamples }) },
  });
  const routes = newRoutes();
  routes.openapi(read, async (c) => {
    const scope = c.get('scope');
    const { from, to, groupBy } = c.req.valid('query');
    const span = spanOf(from, to, groupBy);
    const ofMonth = async () => {
      const used = await readUsage(scope);
      return { ...used, credits: await creditsUsed(scope, used.period.start) };
    };
    const ofSpan = async () => {
      const { requests, runs, tokens, credits } = await usageBetween(scope, span, isHourly(groupBy) ? 'hour' : 'day');
      const period = { start: dateOf(span.from.getTime()), end: dateOf(Math.ceil(span.to.getTime() / dayMs) * dayMs) };
      return { period, requests, runs, tokens, credits };
    };
    const total = from === undefined && to === undefined ? await ofMonth() : await ofSpan();
    if (!groupBy) return c.json(success(total), 200);
    const dialect = c.get('dialect');
    const nameOf = ({ group }: UsageGroup): string => {
      if (groupBy === 'workflow') return String(dialect.facts({ workflowId: group }).workflowId);
      const keyId = groupBy === 'key' ? keyIds.parse(group) : undefined;
      return keyId === undefined ? group : keyIds.format(keyId);
    };
    const counted = (of: UsageGroup, name: keyof UsageAmounts) => (countedBy[groupBy].includes(name) ? of[name] : null);
    const groups = (await usageGroups(scope, groupBy, span)).map((of) => ({
      group: nameOf(of),
      requests: counted(of, 'requests'),
      runs: counted(of, 'runs'),
      failedRuns: counted(of, 'failedRuns'),
      tokens: counted(of, 'tokens'),
      credits: counted(of, 'credits'),
      deliveries: counted(of, 'deliveries'),
      failedDeliveries: counted(of, 'failedDeliveries'),
    }));
    return c.json(success({ ...total, groups }), 200);
  });
  return routes;
}
