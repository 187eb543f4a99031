import { isAtLeast, roleForScope } from '../../src/accounts/core/roles.ts';
import type { AccountServices } from '../../src/accounts/index.ts';
import { AppError, invalid } from '../../src/platform/errors.ts';
import type { Environment } from '../../src/platform/tenant.ts';
import type { Caller, CallerSession } from '../../src/tenancy/caller.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { limitsOf } from '../../src/tenancy/core/limits.ts';
import type { Role } from '../../src/tenancy/core/roles.ts';
import { unauthorized } from '../../src/tenancy/refusals.ts';
import type { ApiContext } from '../context.ts';

/** Reads a header of a request by its name in lower case. */
export type ReadHeader = (name: string) => string | undefined;

const organizationHeader = 'X-Atelier-Organization';
const environmentHeader = 'X-Atelier-Environment';

/** Where a session is accepted in place of a key. */
const prefixes = ['/api/v1', '/v1', '/api/studio', '/api/chat', '/api/agents', '/api/voice'];
const readsCookie = (path: string) => prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));

/** Published for callers whose organization is not known, where failures are only a message. */
const barePaths = /^\/api\/(?:chat|agents)(?:\/|$)/;

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** The value of the session cookie, where the request's path and origin let it be read. */
export function sessionValue(
  { cookie, origin }: AccountServices['accounts'],
  { method, path }: { method: string; path: string },
  header: ReadHeader,
): string | undefined {
  const value = readsCookie(path) ? cookie.valueIn(header('cookie')) : undefined;
  if (value === undefined || !isRead(method)) return value;
  const from = header('origin');
  const isForeign = (from !== undefined && from !== origin) || header('sec-fetch-site') === 'cross-site';
  return isForeign ? undefined : value;
}

/** Refuses a change that another site makes a browser send. @throws AppError forbidden */
export function checkOrigin(c: ApiContext, { origin }: AccountServices['accounts']): void {
  if (isRead(c.req.method)) return;
  const header: ReadHeader = (name) => c.req.header(name);
  const from = header('origin');
  const isOwn = from === undefined ? header('sec-fetch-site') === 'same-origin' : from === origin;
  if (isOwn && header('x-atelier-csrf') !== undefined) return;
  const message = `With a session, changes need the header X-Atelier-CSRF, and come from pages of ${origin}.`;
  throw new AppError('forbidden', message, { reason: 'csrf' });
}

/** The signed-in person. @throws AppError unauthorized */
export async function findSession(c: ApiContext, accounts: AccountServices['accounts']) {
  const header: ReadHeader = (name) => c.req.header(name);
  const { method, path } = c.req;
  const value = sessionValue(accounts, { method, path }, header);
  const token = value === undefined ? undefined : accounts.cookie.tokenOf(value);
  const found = token === undefined ? undefined : await accounts.sessions.find(token);
  if (!found) throw unauthorized('missing_api_key');
  return found;
}

function readEnvironment(header: ReadHeader): Environment | undefined {
  const given = header('x-atelier-environment') ?? 'test';
  return given === 'test' || given === 'live' ? given : undefined;
}

/** For a person who is not a member, an organization is like one that does not exist. */
const noOrganization = () =>
  new AppError('not_found', `You are not a member of the organization in ${organizationHeader}.`);

function missingOrganization(path: string): AppError {
  if (barePaths.test(path)) return new AppError('validation_error', 'No organization found');
  return invalid([{ path: organizationHeader, message: 'Name the organization: org_…' }]);
}

/**
 * The caller of a request without a key, by its session cookie.
 * @param limit counts a request that belongs to no organization or environment, as the person's
 * @throws AppError unauthorized; validation_error, not_found for the organization; what `limit` throws
 */
export async function identifySession(
  c: ApiContext,
  accounts: AccountServices['accounts'],
  limit: (userId: string) => unknown,
): Promise<Caller> {
  const header: ReadHeader = (name) => c.req.header(name);
  const { method, path } = c.req;
  const value = sessionValue(accounts, { method, path }, header);
  const token = value === undefined ? undefined : accounts.cookie.tokenOf(value);
  if (token === undefined) throw unauthorized('missing_api_key');
  const named = header('x-atelier-organization');
  const found = await accounts.sessions.findMember(token, organizationIds.parse(named ?? ''));
  if (!found) throw unauthorized('missing_api_key');
  if (!('role' in found)) {
    await limit(found.userId);
    throw named === undefined ? missingOrganization(path) : noOrganization();
  }
  const environment = readEnvironment(header);
  if (environment === undefined) {
    await limit(found.userId);
    throw invalid([{ path: environmentHeader, message: 'Expected test or live.' }]);
  }
  const { id, userId, email, name, role, organizationId, organizationName, plan, rateMinute, rateDay } = found;
  return {
    keyId: null,
    session: { id, userId, email, name, role, isRead: isRead(method) },
    organizationId,
    organizationName,
    plan,
    environment,
    scopes: [],
    variant: 'A',
    limits: limitsOf(plan, { rateMinute, rateDay }),
    expiresAt: null,
    generation: 0,
  };
}

const needsRole = (required: Role) => new AppError('forbidden', `This needs the role ${required}.`, { required });

/** Whether a person has the rights of a role. @throws AppError forbidden */
export function checkRole({ role }: CallerSession, required: Role): void {
  if (isAtLeast(role, required)) return;
  // A viewer can write nothing, whatever else the operation requires.
  throw needsRole(role === 'viewer' ? 'member' : required);
}

/** Whether a person has the rights of a scope of keys. @throws AppError forbidden */
export function checkSessionScope(session: CallerSession, scope: string): void {
  if (!session.isRead) checkRole(session, roleForScope(scope));
}

/** The requirement of any request with a session: a read-only member changes nothing. @throws AppError forbidden */
export function checkSessionMethod(session: CallerSession): void {
  if (!session.isRead) checkRole(session, 'member');
}

/** For what only people do, and no key. @throws AppError forbidden */
export function requirePerson(c: ApiContext, required: Role): CallerSession {
  const { session } = c.get('caller');
  if (!session) throw needsRole(required);
  checkRole(session, required);
  return session;
}
