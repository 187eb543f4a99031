import type { Database } from '../platform/database/database.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement, systemStatement } from '../platform/database/sql.ts';
import { systemTransaction, type UnitOfWork } from '../platform/database/unit-of-work.ts';
import { knownAddresses } from '../platform/egress/egress-destination.ts';
import { invalid } from '../platform/errors.ts';
import { type AuditAuthor, operator } from '../platform/security/audit.ts';
import { findOrganization } from '../tenancy/index.ts';

const maxRedirects = 20;
const maxUrlLength = 2_048;

const findAllowed = statement({
  name: 'redirect.find',
  parameters: { url: 'text' },
  row: { url: 'text' },
  text: `select url from allowed_redirect where organization_id = :organizationId and :environment is not null
    and url = :url`,
});
const findAll = systemStatement({
  name: 'redirect.list',
  parameters: { organizationId: 'uuid' },
  row: { url: 'text' },
  text: 'select url from allowed_redirect where organization_id = :organizationId order by created_at, url',
});
const lockOrganization = systemStatement({
  name: 'redirect.lock_organization',
  parameters: { organizationId: 'uuid' },
  row: { id: 'uuid' },
  text: 'select id from organization where id = :organizationId for update',
});
const add = systemStatement({
  name: 'redirect.add',
  parameters: { organizationId: 'uuid', url: 'text' },
  row: { added: 'boolean' },
  text: `insert into allowed_redirect (organization_id, url, created_at)
    values (:organizationId, :url, atelier_now())
   on conflict (organization_id, url) do nothing returning true as added`,
});
const remove = systemStatement({
  name: 'redirect.remove',
  parameters: { organizationId: 'uuid', url: 'text' },
  row: { removed: 'boolean' },
  text: `delete from allowed_redirect where organization_id = :organizationId and url = :url returning true as removed`,
});

const isLoopback = ({ hostname }: URL) =>
  knownAddresses(hostname)?.every((address) => /^(127\.|::1$)/.test(address)) ?? false;

/** @returns what is wrong with an address that people are to be sent to, or the parsed address */
function readRedirect(text: string, allowsLoopback: boolean): URL | string {
  const url = text.length <= maxUrlLength ? URL.parse(text) : null;
  if (!url) return `Expected an absolute URL of at most ${maxUrlLength} characters.`;
  const isAllowed = url.protocol === 'https:' || (url.protocol === 'http:' && allowsLoopback && isLoopback(url));
  if (!isAllowed)
    return `Expected a URL that begins with https://${allowsLoopback ? ', or http:// on this machine' : ''}.`;
  if (url.username !== '' || url.password !== '') return 'A URL with a user name or password is not allowed.';
  // An empty fragment is none in `hash`.
  return text.includes('#') ? 'A URL with a fragment is not allowed.' : url;
}

/** The compared parts: scheme, host, port and path. */
const comparable = ({ origin, pathname }: URL): string => origin + pathname;

/**
 * Checks that people may be sent to an address: an address on the organization's list, with any query.
 * @param allowsLoopback whether addresses of the own machine may do without TLS
 * @throws AppError validation_error with path redirectUrl
 */
export async function checkRedirect(scope: Scope, redirectUrl: string, allowsLoopback: boolean): Promise<void> {
  const refuse = (message: string) => invalid([{ path: 'redirectUrl', message }]);
  const url = readRedirect(redirectUrl, allowsLoopback);
  if (typeof url === 'string') throw refuse(url);
  if (await scope.one(findAllowed, { url: comparable(url) })) return;
  throw refuse("This address is not in the organization's list of allowed redirect addresses.");
}

/** For operators: the addresses of an organization's list, in the order in which they were added. */
export interface Redirects {
  redirects: string[];
}

/** @param id `org_…` or uuid. @throws AppError not_found */
export async function listRedirects(database: Database, id: string): Promise<Redirects> {
  return changeList(database, id, async () => {});
}

/**
 * Adds an address. Adding an existing address again is a no-op.
 * @throws AppError not_found; validation_error with path url, also where the list is full
 */
export function addRedirect(
  database: Database,
  id: string,
  text: string,
  allowsLoopback: boolean,
  by: AuditAuthor = { actor: operator },
): Promise<Redirects> {
  const url = readRedirect(text, allowsLoopback);
  if (typeof url === 'string') throw refused(url);
  if (url.search !== '') throw refused('Leave out the query: an address is allowed with every query.');
  return changeList(database, id, async (tx, organizationId) => {
    const known = await tx.rows(findAll, { organizationId });
    const [adds] = await tx.rows(add, { organizationId, url: comparable(url) });
    if (!adds) return;
    if (known.length >= maxRedirects) throw refused(`An organization has at most ${maxRedirects} addresses.`);
    await audit(tx, organizationId, 'redirect.add', comparable(url), by);
  });
}

/** Removes an address. Removing an unknown address is a no-op. @throws AppError not_found */
export function removeRedirect(
  database: Database,
  id: string,
  text: string,
  by: AuditAuthor = { actor: operator },
): Promise<Redirects> {
  const url = URL.parse(text);
  return changeList(database, id, async (tx, organizationId) => {
    const [removed] = url ? await tx.rows(remove, { organizationId, url: comparable(url) }) : [];
    if (removed) await audit(tx, organizationId, 'redirect.remove', comparable(url!), by);
  });
}

const refused = (message: string) => invalid([{ path: 'url', message }], `url: ${message}`);

const audit = (tx: UnitOfWork, organizationId: string, action: string, url: string, by: AuditAuthor) =>
  tx.audit({ organizationId, subjectId: organizationId, action, facts: { url }, ...by });

async function changeList(
  database: Database,
  id: string,
  change: (tx: UnitOfWork, organizationId: string) => Promise<void>,
): Promise<Redirects> {
  const { id: organizationId } = await findOrganization(database, id);
  return systemTransaction(database, async (tx) => {
    await tx.rows(lockOrganization, { organizationId });
    await change(tx, organizationId);
    return { redirects: (await tx.rows(findAll, { organizationId })).map(({ url }) => url) };
  });
}
