import fc from 'fast-check';
import { oneOf, type WordedRule } from './schema-arbitrary.ts';

const durations = () => oneOf(0, 1.5, 3_600, 'PT36H', '2d3h', '90s', 'P1W');
const soon = () => fc.nat({ max: 300 }).map((days) => new Date(Date.now() + days * 86_400_000).toISOString());
const names = ['WorkflowExecution', 'BatchItem'];

/** Rules of how runs are started. */
export const startRules: WordedRule[] = [
  { at: names.map((name) => `${name}.delay`), words: /Not with `startAt`/, follow: durations },
  // With a delay it is refused.
  { at: names.map((name) => `${name}.startAt`), words: /within 366 days/, follow: () => fc.constant(undefined) },
  { at: ['RunChange.startAt'], words: /within 366 days/, follow: soon },
  {
    at: [...names, 'NewSchedule'].map((name) => `${name}.expiresIn`),
    words: /A duration: a number of seconds, an ISO 8601 duration/,
    follow: durations,
  },
  { at: ['BatchItem.version'], words: /A version that the workflow has/, follow: () => oneOf(1) },
  {
    at: ['NewBulkAction'],
    words: /Give either `runIds` or `filter`/,
    // Two may be open at a time.
    follow: () =>
      oneOf(
        { action: 'cancel', dryRun: true, runIds: ['run_0199bbbbcccc7dddeeeeffff00001111'] },
        {
          action: 'retry',
          dryRun: true,
          definition: 'current',
          filter: {
            from: '2026-11-20T00:00:00Z',
            to: '2026-11-21T00:00:00+01:00',
            status: ['failed', 'pending'],
            tag: ['a'],
          },
        },
      ),
  },
  { at: ['NewToken.scopes'], words: /What the token may do/, follow: () => oneOf(['runs:read'], ['chat', 'voice']) },
  {
    at: ['NewToken.runIds', 'NewToken.workflowIds', 'NewToken.batchId'],
    words: /token/,
    follow: () => fc.constant(undefined),
  },
  {
    at: ['NewToken.origins'],
    words: /Origins from which browsers may use the token/,
    follow: () => oneOf(['https://app.example.com'], ['https://a.example.com', 'https://b.example.com:8443']),
  },
  {
    at: ['NewEventType.embedOrigins', 'EventTypeChange.embedOrigins'],
    words: /Origins whose pages may show the booking page/,
    follow: () => oneOf([], ['https://www.example.com']),
  },
  {
    at: ['WebhookExample.type'],
    words: /Any event type/,
    follow: () => oneOf('workflow.run.completed', 'booking.created'),
  },
  {
    at: ['NewApiKey.scopes'],
    words: /Default: all scopes of the caller/,
    follow: () => oneOf(['runs:read'], ['chat', 'voice']),
  },
  { at: ['NewApiKey.expiresAt'], words: /A time in the future/, follow: () => fc.constant(undefined) },
  {
    at: ['NewRedirectUrl.url'],
    words: /An https address/,
    follow: () => oneOf('https://app.example.com/connected', 'https://shop.example.com/'),
  },
  { at: ['NewApiKey.environment'], words: /environment/, follow: () => oneOf('test') },
  {
    at: ['Concurrency.key'],
    words: /A valid CEL expression over input and variables/,
    follow: () => oneOf('input.customer', 'variables.region', '"all"'),
  },
];

const cursor = Buffer.from('2026-11-21T09:30:00.000000Z 0199bbbb-cccc-7ddd-8eee-ffff00001111 1').toString('base64url');

const dayFromNow = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** The same of what stands in queries. */
export const startParameters: Record<string, fc.Arbitrary<unknown>> = {
  'listRunSteps.status': oneOf('failed', 'COMPLETED,skipped'),
  'deleteRedirectUrl.url': oneOf('https://app.example.com/connected'),
  'pollEvents.types': oneOf('workflow.run.completed', 'studio.video.failed,booking.created'),
  'listRuns.after': oneOf(cursor),
  'listRuns.status': oneOf('queued', 'FAILED,completed', 'pending'),
  'listRuns.tag': oneOf('a', 'a,b:c/d'),
  'listRuns.triggeredBy': oneOf('api', 'schedule,event'),
  'getUsage.from': oneOf(dayFromNow(-1), `${dayFromNow(-1)}T00:00:00Z`),
  'getUsage.to': oneOf(dayFromNow(1), `${dayFromNow(1)}T12:30:00+02:00`),
  'triggerWorkflow.tags': oneOf('a', 'a,b'),
  'triggerWorkflow.delay': durations(),
  'triggerWorkflow.expiresIn': durations(),
};

/** Parameters that are refused beside others, which the words of the document say. */
export const exclusiveParameters = [
  'listRuns.offset',
  'triggerWorkflow.startAt',
  'pollEvents.after',
  'pollEvents.waitSeconds',
  'listAuditLog.after',
  'listCreditEntries.after',
];
