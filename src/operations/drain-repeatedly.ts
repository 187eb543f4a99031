import { setTimeout as sleep } from 'node:timers/promises';
import type { Background } from '../platform/concurrency/background.ts';
import { WakeSignal } from '../platform/concurrency/wake-signal.ts';
import type { Notifications } from '../platform/database/notifications.ts';
import type { Log } from '../platform/observability/log.ts';
import { type DrainReport, outboxDueChannel } from '../platform/outbox/outbox.ts';

interface DrainServices {
  background: Background;
  drain(): Promise<DrainReport>;
  log: Log;
  notifications: Pick<Notifications, 'on'>;
}

/** The drain also looks without a notification: it may have missed one, and entries that failed are due again later. */
const lookEveryMs = 2_000;
/** Entries that become due within this time are drained together. */
const togetherMs = 100;

/**
 * Does the work that committed transactions enqueued and no process has done yet, as soon as it is due. A kind that hangs
 * delays only itself.
 */
export async function drainRepeatedly(
  { background, drain, log, notifications }: DrainServices,
  stopping: AbortSignal,
  everyMs = lookEveryMs,
): Promise<void> {
  const drainOnce = async () => {
    const { drained } = await drain();
    if (drained > 0) log.info({ drained }, 'outbox drained');
  };
  const due = new WakeSignal();
  await notifications.on(outboxDueChannel, () => due.set());
  while (!stopping.aborted) {
    background.run('drain of the outbox', drainOnce());
    await sleep(togetherMs, undefined, { signal: stopping }).catch(() => {});
    await due.wait(everyMs - togetherMs, stopping);
  }
}
