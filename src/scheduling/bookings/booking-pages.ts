import { createHmac } from 'node:crypto';
import { withoutSlash } from '../../platform/core/base-url.ts';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { Environment } from '../../platform/tenant.ts';
import { isKept } from '../../tenancy/index.ts';

const tokenLength = 22;
const tokenPattern = new RegExp(`^[\\w-]{${tokenLength}}$`);

export interface BookingLinks {
  confirmationUrl: string;
  rescheduleUrl: string;
  cancelUrl: string;
}

/** The public pages of bookings. A holder of its address may see, move and cancel that booking. */
export class BookingPages {
  readonly #key: string | undefined;
  readonly #base: string;

  /** @param key URL_SIGNING_KEY. Without one bookings have no pages. */
  constructor(key: string | undefined, publicUrl: string) {
    this.#key = key;
    this.#base = `${withoutSlash(publicUrl)}/b`;
  }

  /** For a new booking, by its UUID: 22 characters of base64url, 132 bits that cannot be guessed. */
  tokenOf(bookingId: string): string | null {
    if (this.#key === undefined) return null;
    return createHmac('sha256', this.#key).update(`booking ${bookingId}`).digest('base64url').slice(0, tokenLength);
  }

  /** The same, of its page for the host. */
  hostTokenOf(bookingId: string): string | null {
    if (this.#key === undefined) return null;
    return createHmac('sha256', this.#key)
      .update(`booking host ${bookingId}`)
      .digest('base64url')
      .slice(0, tokenLength);
  }

  /** @param token as it is kept with the booking; null for one that was made without a key */
  linksOf(token: string | null): BookingLinks | Record<keyof BookingLinks, null> {
    if (token === null) return { confirmationUrl: null, rescheduleUrl: null, cancelUrl: null };
    const page = `${this.#base}/${token}`;
    return { confirmationUrl: page, rescheduleUrl: `${page}/reschedule`, cancelUrl: `${page}/cancel` };
  }
}

const keepHostToken = statement({
  name: 'booking.keep_host_token',
  parameters: { id: 'uuid', token: 'text' },
  text: `update booking set host_token = :token
    where organization_id = :organizationId and environment = :environment and id = :id and host_token is null`,
});

/** The pages of a booking for its host; null where bookings have no pages. They work from the first call on. */
export async function hostLinksOf(
  pages: BookingPages,
  scope: Scope,
  { id, hostToken }: { id: string; hostToken: string | null },
): Promise<BookingLinks | null> {
  const token = hostToken ?? pages.hostTokenOf(id);
  if (token === null) return null;
  if (hostToken === null) await scope.rows(keepHostToken, { id, token });
  return pages.linksOf(token) as BookingLinks;
}

// The only look-up that knows no tenant: the token says which one it is.
const findByToken = systemStatement({
  name: 'booking.by_token',
  parameters: { token: 'text' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text'), isHost: 'boolean' },
  text: `select id, organization_id as "organizationId", environment, false as "isHost" from booking
    where token = :token and ${isKept('organization_id')}
   union all
   select id, organization_id, environment, true from booking where host_token = :token and ${isKept('organization_id')}
   limit 1`,
});

const noPage = () => new AppError('not_found', 'This page does not exist.');

/** Whether a text could name a page. @throws AppError not_found */
export function checkToken(token: string): void {
  if (!tokenPattern.test(token)) throw noPage();
}

/**
 * The booking of a page, for its attendee or its host, and the scope of its tenant. A deleted organization has no pages.
 * @throws AppError not_found
 */
export async function findPage(
  database: Database,
  token: string,
  correlationId: string,
): Promise<{ scope: Scope; bookingId: string; isHost: boolean }> {
  checkToken(token);
  const found = await sqlOn(database.pool).one(findByToken, { token });
  if (!found) throw noPage();
  const { id, isHost, organizationId, environment } = found;
  const scope = new Scope(database, { organizationId, environment }, correlationId, 'page');
  return { scope, bookingId: id, isHost };
}
