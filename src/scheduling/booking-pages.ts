import { createHmac } from 'node:crypto';
import { withoutSlash } from '../platform/core/base-url.ts';
import type { Database } from '../platform/database.ts';
import { AppError } from '../platform/errors.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Environment } from '../platform/tenant.ts';

const tokenLength = 22;
const tokenPattern = new RegExp(`^[\\w-]{${tokenLength}}$`);

export interface BookingLinks {
  confirmationUrl: string;
  rescheduleUrl: string;
  cancelUrl: string;
}

/** The public pages of bookings. Whoever has the address of one may see, move and cancel that booking. */
export class BookingPages {
  readonly #key: string | undefined;
  readonly #base: string;

  /** @param key URL_SIGNING_KEY. Without one bookings have no pages. */
  constructor(key: string | undefined, publicUrl: string) {
    this.#key = key;
    this.#base = `${withoutSlash(publicUrl)}/b`;
  }

  /** For a new booking, by its UUID: 22 characters of base64url, 132 bits that nobody can guess. */
  tokenOf(bookingId: string): string | null {
    if (this.#key === undefined) return null;
    return createHmac('sha256', this.#key).update(`booking ${bookingId}`).digest('base64url').slice(0, tokenLength);
  }

  /** @param token as it is kept with the booking; null for one that was made without a key */
  linksOf(token: string | null): BookingLinks | Record<keyof BookingLinks, null> {
    if (token === null) return { confirmationUrl: null, rescheduleUrl: null, cancelUrl: null };
    const page = `${this.#base}/${token}`;
    return { confirmationUrl: page, rescheduleUrl: `${page}/reschedule`, cancelUrl: `${page}/cancel` };
  }
}

interface Found {
  id: string;
  organizationId: string;
  environment: Environment;
}

// The only look-up that knows no tenant: the token says which one it is.
const findByToken = statement<Found>(
  'booking.by_token',
  'select id, organization_id as "organizationId", environment from booking where token = $1',
);

const noPage = () => new AppError('not_found', 'This page does not exist.');

/** Whether a text could name a page. @throws AppError not_found */
export function checkToken(token: string): void {
  if (!tokenPattern.test(token)) throw noPage();
}

/** The booking of a page, and the scope of its tenant. @throws AppError not_found */
export async function findPage(
  database: Database,
  token: string,
  correlationId: string,
): Promise<{ scope: Scope; bookingId: string }> {
  checkToken(token);
  const found = await sqlOn(database.pool).one(findByToken, [token]);
  if (!found) throw noPage();
  const { id, organizationId, environment } = found;
  return { scope: new Scope(database, { organizationId, environment }, correlationId, 'page'), bookingId: id };
}
