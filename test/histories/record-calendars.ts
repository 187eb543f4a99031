import type { Client } from '@temporalio/client';
import { calendarIds } from '../../src/scheduling/core/ids.ts';
import { calendarScheduleId } from '../../src/temporal/contracts/calendars.ts';
import { startProduct } from '../product.ts';
import { addCalendar } from '../scheduling/calendar-rows.ts';
import { until } from '../until.ts';

/** A sync that reads a calendar, and one whose service stays unavailable. */
export async function recordCalendars(
  { schedule }: Pick<Client, 'schedule'>,
  keep: (name: string, workflowId: string) => Promise<void>,
): Promise<void> {
  const product = await startProduct({ CALENDAR_TIME_SCALE: '0.001' });
  await product.start(['calendars'], { CALENDAR_TIME_SCALE: '0.001' });
  const { api } = product;
  const host = (await api.post('/api/v1/scheduling/hosts', { name: 'Host' })).body.data.id;
  const sync = async (fault: string | null): Promise<string> => {
    const id = await addCalendar(product.database, host);
    const path = `/api/v1/scheduling/calendars/${id}`;
    await api.request('PUT', `${path}/sandbox`, { events: [], fault });
    await api.post(`${path}/sync`);
    const handle = schedule.getHandle(calendarScheduleId(calendarIds.parse(id)!));
    const started = await until('the sync starts', async () =>
      handle.describe().then(
        ({ info }) => info.recentActions[0]?.action,
        () => undefined,
      ),
    );
    return started.workflow.workflowId;
  };
  await keep('syncCalendar/an-empty-calendar', await sync(null));
  await keep('syncCalendar/unavailable', await sync('unavailable'));
  await product.close();
}
