import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import fc from 'fast-check';
import { includesTime, nextTimes } from '../../src/automation/core/cron.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let connection: Connection;
let temporal: Client;
let workflowId: string;
beforeAll(async () => {
  product = await sharedProduct();
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  temporal = new Client({ connection });
  workflowId = (await makeWorkflow(product.api)).id;
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

/** As Temporal returns them. */
async function shownTimes(cron: string, timezone: string): Promise<Date[]> {
  const { status, body } = await product.api.request('PUT', `/v1/workflows/${workflowId}/schedule`, {
    cron,
    timezone,
    paused: true,
  });
  expect({ cron, timezone, status }).toEqual({ cron, timezone, status: 200 });
  return body.data.nextRunTimes.map((text: string) => new Date(text));
}

/** What clocks show, once each: an hour that they repeat is one here. */
function onClocks(timezone: string, times: Date[]): string[] {
  const format = new Intl.DateTimeFormat('sv', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' });
  return [...new Set(times.map((time) => format.format(time)))];
}

async function compare(cron: string, timezone: string): Promise<Date[]> {
  const before = new Date();
  const shown = await shownTimes(cron, timezone);
  expect(shown).toHaveLength(5);
  // A minute may have begun since.
  const expected = [before, new Date()].map((after) => onClocks(timezone, nextTimes(cron, timezone, after, 5)));
  const seen = onClocks(timezone, shown);
  expect(expected.map((times) => times.slice(0, seen.length))).toContainEqual(seen);
  for (const time of shown)
    expect({ cron, time, includes: includesTime(cron, timezone, time) }).toMatchObject({ includes: true });
  return shown;
}

test.each([
  ['*/7 * * * *', 'UTC'],
  ['0 9 * * 1-5', 'Europe/Berlin'],
  ['0 0 13 * 5', 'America/New_York'],
  ['15,45 8-18/2 * JAN-MAR Mon,WED', 'Asia/Kolkata'],
  ['0 0 29 2 *', 'Australia/Lord_Howe'],
  ['5/20 */6 1-7 * *', 'Europe/Kyiv'],
  ['0 12 * * 7', 'us/eastern'],
  ['0 12 */10 * 5-7', 'Pacific/Auckland'],
  ['@weekly', 'Africa/Johannesburg'],
  ['@midnight', 'America/Sao_Paulo'],
])('%s in %s is due when Temporal says so', async (cron, timezone) => {
  await compare(cron, timezone);
});

test('any expression of the kind', async () => {
  const value = (min: number, max: number) => {
    const one = fc.integer({ min, max });
    const range = fc.tuple(one, one).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
    const part = fc.oneof(
      one.map(String),
      range,
      fc.tuple(range, fc.integer({ min: 1, max: 9 })).map((of) => of.join('/')),
    );
    return fc.oneof(
      fc.constant('*'),
      fc.integer({ min: 1, max: max }).map((step) => `*/${step}`),
      part,
    );
  };
  const cron = fc.tuple(value(0, 59), value(0, 23), value(1, 28), value(1, 12), value(0, 6)).map((of) => of.join(' '));
  const timezone = fc.constantFrom('UTC', 'Asia/Tokyo', 'Asia/Kathmandu', 'America/Bogota');
  await fc.assert(
    fc.asyncProperty(cron, timezone, async (expression, zone) => void (await compare(expression, zone))),
    { numRuns: 25 },
  );
});

test('a time that clocks leap over is not due, one that they show twice is due at least once', async () => {
  // Berlin's clocks leap on the last Sunday of March from 2:00 to 3:00, and back on the last one of October.
  const isLastSunday = (time: Date) => new Date(time.getTime() + 7 * 86_400_000).getUTCMonth() !== time.getUTCMonth();
  const tenTimes = async (cron: string) => {
    await shownTimes(cron, 'Europe/Berlin');
    return (await temporal.schedule.getHandle(`schedule-${workflowId}`).describe()).info.nextActionTimes;
  };
  const spring = await tenTimes('30 2 * 3 0');
  expect(spring).toHaveLength(10);
  expect(spring.filter(isLastSunday)).toEqual([]);

  // Which of the two, or both, depends on the zone.
  const autumn = await tenTimes('30 2 * 10 0');
  expect(autumn.filter(isLastSunday).length).toBeGreaterThan(0);
  expect(new Set(autumn.map((time) => time.toISOString())).size).toBe(10);
});
