import { AppError } from '../../../src/platform/errors.ts';
import type { ApiContext } from '../../context.ts';
import { readForm } from '../../pages/form-page.ts';

export const maxFormBytes = 64 * 1024;
const maxFields = 8;

/** Long enough for any address and password that could be right. */
export const field = (fields: URLSearchParams, name: string): string => (fields.get(name) ?? '').slice(0, 1_000);

/**
 * Refuses forms of foreign pages: browsers send the origin of a form. Our pages send no referrer, and browsers then
 * write `null` as the origin, so the fetch metadata about the site decides first.
 * @throws AppError forbidden
 */
export function checkFormOrigin(c: ApiContext, origin: string): void {
  const [from, site] = [c.req.header('origin'), c.req.header('sec-fetch-site')];
  // Clients other than browsers send neither.
  const isOurs = from === origin || ((from === undefined || from === 'null') && site === 'same-origin');
  if (isOurs || (from === undefined && site === undefined)) return;
  throw new AppError('forbidden', 'Forms of other sites are not accepted.', { reason: 'csrf' });
}

/** The fields of a form of our own page. @throws AppError */
export async function ownForm(c: ApiContext, origin: string): Promise<URLSearchParams> {
  checkFormOrigin(c, origin);
  return readForm(c, maxFields);
}
