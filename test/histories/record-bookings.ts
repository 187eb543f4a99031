import type { WorkflowClient } from '@temporalio/client';
import { bookingIds } from '../../src/scheduling/core/ids.ts';
import { bookingMessages, bookingWorkflowId } from '../../src/temporal/contracts/scheduling.ts';
import { secrets } from '../operator.ts';
import { startProduct } from '../product.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { until } from '../until.ts';

/** Histories of the workflows of bookings. @param keep records a workflow when it has ended */
export async function recordBookings(
  workflow: WorkflowClient,
  keep: (name: string, workflowId: string) => Promise<void>,
): Promise<void> {
  const { api, ...product } = await startProduct({ URL_SIGNING_KEY: secrets.URL_SIGNING_KEY });
  await product.start(['calendars']);
  const scene = sceneOf(api);
  const settled = (path: string) =>
    until('the effects are over', async () => {
      const { effects } = await scene.get(path);
      const now = (effects as { type: string; status: string }[]).filter(({ type }) => type !== 'reminder');
      return now.every(({ status }) => !['pending', 'retrying'].includes(status));
    });
  const locations = [{ type: 'google_meet', autoCreate: true }];
  const eventType = await scene.offer({ locations });
  const book = async (start: string) => {
    const { id } = (await scene.book(eventType.id, start)).body.data;
    await settled(`bookings/${id}`);
    return { path: `bookings/${id}`, workflowId: bookingWorkflowId(bookingIds.parse(id)!) };
  };

  const moved = await book('2040-06-13T09:00:00Z');
  await scene.request('PATCH', `${moved.path}/reschedule`, { newStart: '2040-06-13T11:00:00Z' });
  await settled(moved.path);
  await scene.request('DELETE', moved.path);
  await keep('followBooking/moved-and-cancelled', moved.workflowId);

  // No calendar makes its meeting link.
  const retried = await book('2040-06-14T09:00:00Z');
  const link = async () =>
    (await scene.get(retried.path)).effects.find((one: { type: string }) => one.type === 'meeting_link');
  await workflow.getHandle(retried.workflowId).signal(bookingMessages.retryEffects);
  await until('the link is tried again', async () => (await link()).attempts === 2);
  await settled(retried.path);
  await scene.request('DELETE', retried.path);
  await keep('followBooking/retried-by-an-operator', retried.workflowId);
  await product.close();
}
