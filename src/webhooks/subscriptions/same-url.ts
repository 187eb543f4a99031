import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { invalid } from '../../platform/errors.ts';
import { everyEvent } from '../core/events.ts';

/** How many active webhooks may send one event to one URL. */
export const maxOfSameUrl = 5;

interface ActiveUrl {
  id: string;
  url: string;
  events: string[];
}

const findActive = statement({
  name: 'subscription.active_urls',
  row: { id: 'uuid', url: 'text', events: typed<string[]>('jsonb') },
  text: `select id, url, events from webhook_subscription
    where organization_id = :organizationId and environment = :environment and is_active and deleted_at is null`,
});

/** Two URLs that are the same request: the case of the host, its dot at the end, a usual port and the fragment are none. */
function normalizedUrl(text: string): string {
  const url = new URL(text);
  url.hash = '';
  url.hostname = url.hostname.replace(/\.$/, '');
  return url.href;
}

const listens = ({ events }: { events: string[] }, event: string) =>
  events.includes(event) || events.includes(everyEvent);

/**
 * @param own the webhook as it is going to be, active. Its transaction holds the lock, so that two cannot both be the last one allowed.
 * @throws AppError validation_error with path url, when as many others send one of its events to the same URL
 */
export async function checkSameUrl(tx: Scope, own: ActiveUrl): Promise<void> {
  const url = normalizedUrl(own.url);
  const others = (await tx.rows(findActive)).filter(({ id, url: of }) => id !== own.id && normalizedUrl(of) === url);
  const events = new Set([own, ...others].flatMap((of) => of.events));
  for (const event of events) {
    if (!listens(own, event) || others.filter((other) => listens(other, event)).length < maxOfSameUrl) continue;
    const message = `At most ${maxOfSameUrl} active webhooks may send the same event to the same URL.`;
    throw invalid([{ path: 'url', message }]);
  }
}
