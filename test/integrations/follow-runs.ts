import { Client, type Connection, ScheduleOverlapPolicy } from '@temporalio/client';
import { followScheduleId } from '../../src/temporal/contracts/followed-integrations.ts';
import { until } from '../until.ts';

export const scheduleOf = (connection: Connection, id: string) =>
  new Client({ connection }).schedule.getHandle(followScheduleId(id));

/**
 * Waits for what a run of a followed connection does, and asks for one each second: of two that are asked for within one
 * second Temporal may start one, and the next one of the Schedule comes after a minute or more. One runs at a time, as the
 * product asks for them.
 * @param id of the integration's connection
 */
export async function runUntil(
  connection: Connection,
  id: string,
  what: string,
  isDone: () => Promise<boolean>,
): Promise<void> {
  let asked = Math.floor(Date.now() / 1_000);
  await until(what, async () => {
    if (await isDone()) return true;
    const second = Math.floor(Date.now() / 1_000);
    if (second > asked + 1) {
      asked = second;
      await scheduleOf(connection, id).trigger(ScheduleOverlapPolicy.BUFFER_ONE);
    }
    return false;
  });
}
