import type { Background } from '../platform/concurrency/background.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import type { Role } from '../tenancy/core/roles.ts';
import type { SessionInUse } from '../tenancy/index.ts';
import { isAtLeast } from './core/roles.ts';
import type { AccountTimes } from './core/times.ts';

// Sessions are looked up for every request and never cached: an ended one is refused everywhere, at once.

const isOpen = `s."expiresAt" > atelier_now()
  and s."updatedAt" > atelier_now() - make_interval(secs => :idleSeconds)`;

const userOfSession = {
  id: 'uuid',
  userId: 'uuid',
  email: 'text',
  name: 'text',
  isStale: 'boolean',
} as const;

const userColumns = `s.id, u.id as "userId", u.email, u.name,
  s."updatedAt" < atelier_now() - make_interval(secs => :touchSeconds) or u."lastSeenAt" is null as "isStale"`;

const find = systemStatement({
  name: 'session.find',
  parameters: { token: 'text', idleSeconds: 'float8', touchSeconds: 'float8' },
  row: userOfSession,
  text: `select ${userColumns} from auth."session" s join auth."user" u on u.id = s."userId"
    where s.token = :token and ${isOpen}`,
});

const findIn = systemStatement({
  name: 'session.find_in_organization',
  parameters: {
    token: 'text',
    organizationId: 'uuid?',
    idleSeconds: 'float8',
    touchSeconds: 'float8',
  },
  row: {
    ...userOfSession,
    role: typed<Role>('text?'),
    organizationId: 'uuid?',
    organizationName: 'text?',
    plan: typed<PlanName>('text?'),
    rateMinute: 'int?',
    rateDay: 'int?',
  },
  text: `select ${userColumns}, case when o.id is not null then m.role end as role, o.id as "organizationId",
      o.name as "organizationName", o.plan, o.rate_minute as "rateMinute", o.rate_day as "rateDay"
     from auth."session" s join auth."user" u on u.id = s."userId"
     left join auth."member" m on m."userId" = u.id and m."organizationId" = :organizationId
     left join organization o on o.id = m."organizationId" and o.deleted_at is null
    where s.token = :token and ${isOpen}`,
});

const touch = systemStatement({
  name: 'session.touch',
  parameters: { id: 'uuid' },
  text: `with used as (
     update auth."session" set "updatedAt" = atelier_now() where id = :id returning "userId")
   update auth."user" u set "lastSeenAt" = atelier_now() from used where u.id = used."userId"`,
});

const findGoingOn = systemStatement({
  name: 'session.going_on',
  parameters: { sessionIds: 'uuid[]', organizationIds: 'uuid[]', idleSeconds: 'float8' },
  row: { position: 'int', role: typed<Role>('text') },
  text: `select asked.position::int as position, m.role
     from unnest(:sessionIds, :organizationIds) with ordinality as asked (session_id, organization_id, position)
     join auth."session" s on s.id = asked.session_id
     join auth."member" m on m."userId" = s."userId" and m."organizationId" = asked.organization_id
     join organization o on o.id = asked.organization_id and o.deleted_at is null
    where ${isOpen}`,
});

const findOrganizations = systemStatement({
  name: 'session.organizations',
  parameters: { userId: 'uuid' },
  row: { id: 'uuid', name: 'text', slug: 'text', role: typed<Role>('text') },
  text: `select o.id, o.name, o.slug, m.role from auth."member" m
     join organization o on o.id = m."organizationId" and o.deleted_at is null
    where m."userId" = :userId order by o.id limit 1000`,
});

const endAll = systemStatement({
  name: 'session.end_all_of_user',
  parameters: { userId: 'uuid' },
  row: { id: 'uuid' },
  text: `delete from auth."session" where "userId" = :userId returning id`,
});

const endOthers = systemStatement({
  name: 'session.end_others_of_user',
  parameters: { userId: 'uuid', token: 'text' },
  text: `delete from auth."session" where "userId" = :userId and token <> :token`,
});

/** Longer than an administrator asks who was invited. No invitation ends later than it expires. */
const invitationDays = 30;

// Conditions stand twice: a row that another transaction has renewed meanwhile is checked again by the outer one.
const forgetOld = systemStatement({
  name: 'session.forget_old',
  parameters: { idleSeconds: 'float8', limit: 'int' },
  row: { count: 'int' },
  text: `with old as (
     delete from auth."session" s where not (${isOpen}) and s.id = any(array(
       select s.id from auth."session" s where not (${isOpen}) limit :limit)) returning 1),
   used as (
     delete from auth."verification" where "expiresAt" < atelier_now() and id = any(array(
       select id from auth."verification" where "expiresAt" < atelier_now() limit :limit)) returning 1),
   invited as (
     delete from auth."invitation" where id = any(array(
       select id from auth."invitation" where "expiresAt" < atelier_now() - make_interval(days => ${invitationDays})
        limit :limit)) returning 1)
   select (select count(*) from old)::int + (select count(*) from used)::int + (select count(*) from invited)::int as count`,
});

/** A signed-in person. */
export interface SignedIn {
  /** The session's id, a canonical uuid. */
  id: string;
  userId: string;
  email: string;
  name: string;
}

/** The same in an organization that the person is a member of. */
interface SignedInMember extends SignedIn {
  role: Role;
  organizationId: string;
  organizationName: string;
  plan: PlanName;
  rateMinute: number | null;
  rateDay: number | null;
}

/** The sessions of people, as the API's requests name them. */
export class Sessions {
  readonly #database: Database;
  readonly #background: Background;
  readonly #times: AccountTimes;

  constructor(database: Database, background: Background, times: AccountTimes) {
    this.#database = database;
    this.#background = background;
    this.#times = times;
  }

  get #idleSeconds(): number {
    return this.#times.sessionIdleMs / 1000;
  }

  get #touchSeconds(): number {
    return this.#times.touchEveryMs / 1000;
  }

  /** @returns undefined where the session has ended */
  async find(token: string): Promise<SignedIn | undefined> {
    const seconds = { idleSeconds: this.#idleSeconds, touchSeconds: this.#touchSeconds };
    const found = await sqlOn(this.#database.pool).one(find, { token, ...seconds });
    return found && this.#used(found);
  }

  /**
   * @param organizationId a canonical uuid; undefined where the caller names none that could exist
   * @returns undefined where the session has ended; without `role` where the person is no member
   */
  async findMember(token: string, organizationId: string | undefined): Promise<SignedIn | SignedInMember | undefined> {
    const seconds = { idleSeconds: this.#idleSeconds, touchSeconds: this.#touchSeconds };
    const asked = { token, organizationId: organizationId ?? null, ...seconds };
    const found = await sqlOn(this.#database.pool).one(findIn, asked);
    if (!found) return undefined;
    const { id, userId, email, name } = this.#used(found);
    return found.role === null ? { id, userId, email, name } : (found as SignedInMember);
  }

  /** Whether each of the sessions continues, and its person is still a member with the required role. */
  async areOpen(sessions: readonly SessionInUse[]): Promise<boolean[]> {
    const found = await sqlOn(this.#database.pool).rows(findGoingOn, {
      sessionIds: sessions.map(({ sessionId }) => sessionId),
      organizationIds: sessions.map(({ organizationId }) => organizationId),
      idleSeconds: this.#idleSeconds,
    });
    const roles = new Map(found.map(({ position, role }) => [position, role]));
    return sessions.map(({ required }, index) => {
      const role = roles.get(index + 1);
      return role !== undefined && isAtLeast(role, required);
    });
  }

  /** The organizations of a person, oldest first. */
  organizationsOf(userId: string) {
    return sqlOn(this.#database.pool).rows(findOrganizations, { userId });
  }

  /** Ends all sessions of a person. @returns how many */
  async endAll(userId: string): Promise<number> {
    return (await sqlOn(this.#database.pool).rows(endAll, { userId })).length;
  }

  /** Ends all sessions of a person but the one with this token. */
  async endOthers(userId: string, token: string): Promise<void> {
    await sqlOn(this.#database.pool).rows(endOthers, { userId, token });
  }

  /** Removes ended sessions, links and codes, and invitations long after their end. @returns how many */
  async forgetOld(limit: number): Promise<number> {
    return (await sqlOn(this.#database.pool).one(forgetOld, { idleSeconds: this.#idleSeconds, limit }))!.count;
  }

  #used<Found extends SignedIn & { isStale: boolean }>(found: Found): Found {
    if (found.isStale) {
      this.#background.run('last use of a session', sqlOn(this.#database.pool).rows(touch, { id: found.id }));
    }
    return found;
  }
}
