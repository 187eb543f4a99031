import { Client, Connection, ScheduleNotFoundError } from '@temporalio/client';
import { runningServers } from './servers.ts';

/** For a product whose processes have ended: its Schedule would start a workflow every minute until the tests end. */
export async function deleteHousekeeping(taskQueuePrefix: string): Promise<void> {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  try {
    await new Client({ connection }).schedule.getHandle(`${taskQueuePrefix}housekeeping`).delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  } finally {
    await connection.close();
  }
}

/** Runs every sweep of a product, due or not, after those that are under way. */
export async function triggerHousekeeping(taskQueuePrefix: string): Promise<void> {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  try {
    await new Client({ connection }).schedule.getHandle(`${taskQueuePrefix}housekeeping`).trigger('BUFFER_ONE');
  } finally {
    await connection.close();
  }
}

/** A Schedule as Temporal describes it. */
export async function temporalSchedule(id: string) {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  try {
    return await new Client({ connection }).schedule.getHandle(id).describe();
  } finally {
    await connection.close();
  }
}
